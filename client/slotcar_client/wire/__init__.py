"""What goes over the wire, for the client and the controller alike; the standard library alone is imported here."""

#: A text of one line without terminal codes, as JSON Schema can say it: no control characters, no separators of lines or
#: paragraphs, nothing that turns the direction of writing, no half of a surrogate pair.
LINE_PATTERN = r"^[^\u0000-\u001f\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]*$"
