"""What people and programs look at: documents, sentences, boundaries, the wanted configurations."""
