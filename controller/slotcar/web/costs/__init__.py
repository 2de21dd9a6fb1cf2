"""What a transfer would take: asked of each source, the soonest first."""

from slotcar.web.costs.pages import PAGES as PAGES
