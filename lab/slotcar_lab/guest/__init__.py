"""The one QEMU guest whose kernel has what this kernel lacks."""
