"""Sessions of people whom an issuer named, and sign-ins that are under way."""

from __future__ import annotations

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None
#: What the way back takes away.
LOST = "sessions of people whom an issuer named"

STATEMENTS = (
    # Where somebody signed in at an issuer: its name, what it said of the person, and when the session is over.
    "ALTER TABLE web_session ADD COLUMN issuer text",
    "ALTER TABLE web_session ADD COLUMN claims jsonb",
    "ALTER TABLE web_session ADD COLUMN ends_at timestamptz",
    # From the way to the issuer until the way back, in one browser.
    """
    CREATE TABLE web_sign_in (
        browser_sha256 text PRIMARY KEY CHECK (length(browser_sha256) = 64),
        state          text NOT NULL,
        issuer         text NOT NULL,
        nonce          text NOT NULL,
        verifier       text NOT NULL,
        back           text NOT NULL,
        zone           text NOT NULL,
        begun_at       timestamptz NOT NULL
    )
    """,
    "CREATE INDEX web_sign_in_begun ON web_sign_in (begun_at)",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    op.execute("DROP TABLE web_sign_in")
    op.execute("DELETE FROM web_session WHERE issuer IS NOT NULL")
    for column in ("ends_at", "claims", "issuer"):
        op.execute(f"ALTER TABLE web_session DROP COLUMN {column}")
