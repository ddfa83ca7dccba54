"""WHEN a table counts as safe: one module per criterion, with its kernel. Knows no tables."""

from discreet.criteria.criterion import Criterion
from discreet.criteria.specs.alpha_k import AlphaK
from discreet.criteria.specs.beta_likeness import BetaLikeness
from discreet.criteria.specs.delta_disclosure import DeltaDisclosure
from discreet.criteria.specs.delta_presence import DeltaPresence
from discreet.criteria.specs.k_anonymity import KAnonymity
from discreet.criteria.specs.k_map import KMap
from discreet.criteria.specs.l_diversity import LDiversity
from discreet.criteria.specs.t_closeness import TCloseness

__all__ = [
    "AlphaK",
    "BetaLikeness",
    "Criterion",
    "DeltaDisclosure",
    "DeltaPresence",
    "KAnonymity",
    "KMap",
    "LDiversity",
    "TCloseness",
]
