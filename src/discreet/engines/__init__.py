"""Where data lives: engines run query trees and return Arrow."""
