"""RELEASE IN, FOUND PEOPLE OUT: what an outsider learns from a table or from answers.

Nothing here imports `release` or `answer`: an adversary has what was published, what it knows already,
and something that answers questions.
"""
