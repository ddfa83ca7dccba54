"""Served databases: connections with transactions that run query trees and return Arrow."""
