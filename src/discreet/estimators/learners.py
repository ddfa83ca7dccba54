"""The estimators: one for each learner of the registry and each task that it has."""

from __future__ import annotations

from discreet.estimators.classifiers import PrivateClassifier
from discreet.estimators.regressors import PrivateRegressor
from discreet.estimators.unsupervised import PrivateClusterer, PrivateTransformer


class BoostingClassifier(PrivateClassifier, learner="boosting"):
    """Boosting of classes: a shape function for each feature, improved step by step.

    >>> people = [[30.0], [60.0]] * 500
    >>> model = BoostingClassifier(bounds=(0, 110), classes=["ill", "well"], rounds=3)
    >>> model.fit(people, ["well", "ill"] * 500).predict([[30.0], [60.0]]).tolist()
    ['well', 'ill']
    """


class BoostingRegressor(PrivateRegressor, learner="boosting"):
    """Boosting of numbers: a shape function for each feature, improved step by step."""


class NaiveBayesClassifier(PrivateClassifier, learner="naive-bayes"):
    """Naive Bayes: log odds of each feature apart; the quickest, one noisy table a feature."""


class LinearRegression(PrivateRegressor, learner="linear"):
    """Least squares from noisy sums; `coefficients_` has the coefficients with their errors."""


class LogisticRegression(PrivateClassifier, learner="logistic"):
    """Log odds of the classes from a fitted table; `coefficients_` has the coefficients with their errors."""


class HuberRegressor(PrivateRegressor, learner="huber"):
    """Robust regression: large errors count by their size, not by their square."""


class QuantileRegressor(PrivateRegressor, learner="quantile"):
    """Quantile regression: the number that a share of rows do not exceed, by default the median."""


class DecisionTreeClassifier(PrivateClassifier, learner="tree"):
    """A decision tree that people can read; splits chosen by the exponential mechanism."""


class RandomForestClassifier(PrivateClassifier, learner="forest"):
    """Many trees whose chances are averaged; each leaf is counted once."""


class KMeans(PrivateClusterer, learner="k-means"):
    """Clusters of rows, whose centers are moved by noisy counts and sums."""


class PCA(PrivateTransformer, learner="pca"):
    """Principal components, from one noisy matrix of sums of products."""
