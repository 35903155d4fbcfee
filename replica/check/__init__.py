"""The doctor: named rules over one replica's directory, or over a group of them."""
