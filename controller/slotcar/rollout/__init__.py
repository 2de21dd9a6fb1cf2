"""Makes the devices equal to what the ledger wants: typed changes in; staged, activated, verified or rolled back.

In the order in which a boundary passes them: `configuring` and `program`, put together by `wanted`, say what each device is
to have, and to do by itself; `schedule` what the loop does next; `loop` and `pushing` do it, `health` and `withholding`
keep who must wait; `pusher` reads devices and pushes a revision to them, written by `archive` and `device_folder`, through
`playbook` (Ansible). In Ansible's process `steps` takes the steps of a push over the `transport` of a device: `linux/`,
`ios/` or `netconf/`; `fanout/` takes one step on many devices at once.
"""
