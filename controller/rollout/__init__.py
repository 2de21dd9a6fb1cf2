"""Rendered configurations onto devices, through Ansible: read, stage, activate, verify, or roll all back."""
