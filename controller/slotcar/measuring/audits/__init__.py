"""Whether SLSs were kept: what probes measured, judged by what was agreed (ADR 87)."""
