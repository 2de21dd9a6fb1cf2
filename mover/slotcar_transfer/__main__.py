"""`slotcar-transfer`: the mover without the rest of Slotcar."""

from slotcar_transfer.cli import app


def main() -> None:
    app()


if __name__ == "__main__":
    main()
