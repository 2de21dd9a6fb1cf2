"""Who may what: Cedar policies, what they are asked, and what they answer (ADR 80)."""
