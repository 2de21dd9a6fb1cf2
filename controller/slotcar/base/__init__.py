"""What every room uses: problems, instants, units, words of the trade, files, settings, and which platforms there are."""
