"""The lab: routers that are real Linux kernels, in network namespaces on this kernel or inside one QEMU guest.

This file stays empty: the agent imports the package inside the guest, where every module read costs milliseconds.
"""
