"""Reads tables in Markdown."""


def cells_of(line: str) -> tuple[str, ...]:
    """The cells of one row, without the spaces around them."""
    return tuple(cell.strip() for cell in line.strip("|").split("|"))
