"""What makes kraftlake easy to type in a shell."""
