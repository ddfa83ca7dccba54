"""What a trained model gives away about the people it was trained on."""
