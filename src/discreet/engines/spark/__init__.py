"""Spark: the engine of a cluster's tables, and a catalog that is served."""

from discreet.engines.spark.engine import Spark, start_spark

__all__ = ["Spark", "start_spark"]
