"""From reservations to a plan, and what may be asked of the ledger: files, matching, admission, plan documents."""
