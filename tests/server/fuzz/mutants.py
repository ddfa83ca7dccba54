"""Unusual statements: trees with pieces exchanged, nested and spliced, and texts with words exchanged."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from tests.server.fuzz import corpus

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

_WORD = re.compile(r"'[^']*'|\w+|[^\w\s]")
_OPERATORS = (
    exp.EQ, exp.NEQ, exp.GT, exp.LT, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.And, exp.Or,
    exp.DPipe, exp.Like, exp.ILike, exp.RegexpLike, exp.Is, exp.NullSafeEQ, exp.BitwiseAnd,
)  # fmt: skip
_SETS = (exp.Union, exp.Except, exp.Intersect)
_NAMES = ("staff", "notes", "x", "w", "s", "secrets", "Staff", "current_user", "id", "code")
MOST = 150  # nodes of a tree


class Mutants:
    """Makes statements, one after the other."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.queries = [tree for tree in map(_read, corpus.lines(corpus.QUERIES)) if tree]
        self.others = corpus.lines(corpus.OTHERS)
        self.starts = {
            user: [tree for tree in self.queries if _reads(tree) & set(tables)]
            + [
                exp.select(*columns[:many]).from_(table)
                for table in tables
                for many in (1, 2, len(columns))
            ]
            for user, (tables, columns) in corpus.OWN.items()
        }
        self.starts["analyst"] = [
            tree
            for tree in self.starts["analyst"]
            if tree.find(exp.AggFunc) and len(_reads(tree)) == 1
        ]
        self.trees = [tree for tree in map(_read, self.others) if tree]
        self.pieces = [
            tree.selects[0].unalias()
            for tree in (_read(f"SELECT {line}") for line in corpus.lines(corpus.EXPRESSIONS))
            if isinstance(tree, exp.Select)
        ]
        self.families = list(self.queries)
        self.tables, self.columns = corpus.TABLES, corpus.COLUMNS
        self.functions: tuple[str, ...] = corpus.FUNCTIONS

    def one(self, user: str) -> str:
        """Return a statement, or a few of them, as `user` might send it."""
        tables, columns = corpus.OWN.get(user, ((), ()))
        is_own = bool(tables) and self.chance.random() < 0.6
        self.tables = tables if is_own else corpus.TABLES
        self.columns = columns if is_own else corpus.COLUMNS
        self.functions = corpus.FUNCTIONS[: corpus.USUAL if is_own else None]
        if is_own:
            return self.own(user)
        return self.any()

    def own(self, user: str) -> str:
        """Return a query of what the user may see, changed, or with a piece of something else."""
        made = self.chance.choice(self.starts[user]).copy()
        for _ in range(self.chance.choice((1, 1, 2, 3, 4))):
            made = self.chance.choice(_MILD if self.chance.random() < 0.8 else _CHANGES)(self, made)
        return self.text(made)

    def any(self) -> str:
        pick = self.chance.random()
        if pick < 0.02:
            return self.chance.choice(self.others)
        if pick < 0.22:
            return self.words(self.chance.choice(self.others))
        if pick < 0.3:
            return self.words(self.chance.choice(self.families).sql(dialect="postgres"))
        if pick < 0.4:
            return self.text(self.mutated(self.chance.choice(self.trees)))
        made = self.mutated(self.chance.choice(self.families))
        # Children of children: some of what was made is changed again later.
        if self.chance.random() < 0.2 and len(list(made.walk())) < MOST:
            self.families[self.chance.randrange(len(self.families))] = made
            self.families[self.chance.randrange(len(self.families))] = self.chance.choice(
                self.queries
            )
        return self.text(made)

    def text(self, tree: exp.Expr) -> str:
        """Return a tree as text."""
        try:
            return tree.sql(dialect="postgres")
        except (SqlglotError, AttributeError, TypeError, ValueError, IndexError):
            return "SELECT 1"

    def words(self, text: str) -> str:
        """Return a text with some words exchanged, doubled or left out."""
        words = _WORD.findall(text)
        for _ in range(self.chance.choice((1, 1, 2, 3))):
            place = self.chance.randrange(len(words))
            match self.chance.randrange(5):
                case 0:
                    words[place] = self.chance.choice(corpus.COLUMNS)
                case 1:
                    words[place] = self.chance.choice(corpus.TABLES)
                case 2:
                    words[place] = self.chance.choice(
                        (*_WORD.findall(self.chance.choice(self.others)), "*")
                    )
                case 3 if len(words) > 2:
                    del words[place]
                case _:
                    words.insert(place, self.chance.choice(words))
        return " ".join(words)

    def mutated(self, tree: exp.Expr) -> exp.Expr:
        """Return a changed copy."""
        tree = tree.copy()
        for _ in range(self.chance.choice((1, 1, 2, 2, 3, 5))):
            tree = self.chance.choice(_CHANGES)(self, tree)
        return tree

    def replaced(
        self, tree: exp.Expr, kinds: tuple[type, ...], make: Callable[[exp.Expr], exp.Expr]
    ) -> exp.Expr:
        """Return the tree with one node of these kinds made anew."""
        found = [node for node in tree.find_all(*kinds) if node.parent is not None]
        if found:
            node = self.chance.choice(found)
            node.replace(make(node))
        return tree

    def column(self, tree: exp.Expr) -> exp.Expr:
        return self.replaced(tree, (exp.Column, exp.Star), lambda _: self.any_column())

    def any_column(self) -> exp.Expr:
        is_own = self.columns is not corpus.COLUMNS
        of = None if is_own else self.chance.choice((*_NAMES, *[None] * 6))
        return exp.column(self.chance.choice(self.columns), table=of)

    def table(self, tree: exp.Expr) -> exp.Expr:
        return self.replaced(tree, (exp.Table,), lambda _: self.any_table())

    def any_table(self) -> exp.Expr:
        made = exp.to_table(self.chance.choice(self.tables))
        if self.chance.random() < 0.4:
            return exp.alias_(made, self.chance.choice(_NAMES), table=True)
        if self.chance.random() < 0.15:
            return self.query().subquery(self.chance.choice(_NAMES))
        return made

    def query(self) -> exp.Query:
        if self.tables is not corpus.TABLES:
            table, column = self.chance.choice(self.tables), self.chance.choice(self.columns)
            return exp.select(column).from_(table).limit(self.chance.choice((1, 3)))
        found = self.chance.choice(self.queries).copy()
        return found if isinstance(found, exp.Query) else exp.select("1")

    def value(self) -> exp.Expr:
        match self.chance.randrange(8):
            case 0 | 1:
                return self.any_column()
            case 2:
                return exp.Literal.number(self.chance.choice((0, 1, -1, 3, 2**31, 10**20, 0.5)))
            case 3:
                return exp.Literal.string(
                    self.chance.choice(("", "a", "it", "2020-01-01", "%", "é'", "\\"))
                )
            case 4:
                return exp.Anonymous(
                    this=self.chance.choice(self.functions),
                    expressions=[
                        self.any_column() for _ in range(self.chance.choice((0, 1, 1, 2, 3)))
                    ],
                )
            case 5:
                return exp.Subquery(this=self.query())
            case 6 if self.columns is not corpus.COLUMNS:
                kind = self.chance.choice(_OPERATORS)
                return kind(this=self.any_column(), expression=self.any_column())
            case _:
                return self.chance.choice(self.pieces).copy()

    def piece(self, tree: exp.Expr) -> exp.Expr:
        return self.replaced(tree, (exp.Column, exp.Literal, exp.Func), lambda _: self.value())

    def function(self, tree: exp.Expr) -> exp.Expr:
        def wrap(node: exp.Expr) -> exp.Expr:
            return exp.Anonymous(this=self.chance.choice(self.functions), expressions=[node.copy()])

        return self.replaced(tree, (exp.Column, exp.Func), wrap)

    def cast(self, tree: exp.Expr) -> exp.Expr:
        def wrap(node: exp.Expr) -> exp.Expr:
            return exp.cast(node.copy(), self.chance.choice(corpus.TYPES), dialect="postgres")

        return self.replaced(tree, (exp.Column, exp.Literal), wrap)

    def operator(self, tree: exp.Expr) -> exp.Expr:
        def swap(node: exp.Expr) -> exp.Expr:
            kind = self.chance.choice(_OPERATORS)
            return kind(
                this=node.this.copy(),
                expression=(node.args.get("expression") or self.value()).copy(),
            )

        return self.replaced(tree, (exp.Binary,), swap)

    def rename(self, tree: exp.Expr) -> exp.Expr:
        """Rename an alias so that it hides something."""
        name = exp.to_identifier(self.chance.choice(_NAMES))

        def give(node: exp.Expr) -> exp.Expr:
            return exp.TableAlias(this=name)

        if self.chance.random() < 0.5:
            return self.replaced(tree, (exp.TableAlias,), give)
        return self.replaced(tree, (exp.Identifier,), lambda _: name.copy())

    def nest(self, tree: exp.Expr) -> exp.Expr:
        """Put a query into another one."""
        if not isinstance(tree, exp.Query):
            return tree
        name = self.chance.choice(_NAMES)
        match self.chance.randrange(5):
            case 0:
                return exp.select("*").from_(tree.subquery(name))
            case 1:
                return exp.select(self.any_column()).with_(name, as_=tree).from_(exp.to_table(name))
            case 2:
                kind = self.chance.choice(_SETS)
                return kind(this=tree, expression=self.query(), distinct=self.chance.random() < 0.5)
            case 3:
                return exp.select(exp.Subquery(this=tree))
            case _:
                lateral = exp.Lateral(
                    this=exp.Subquery(this=tree), alias=exp.TableAlias(this=exp.to_identifier(name))
                )
                return exp.select("*").from_(self.any_table()).join(lateral)

    def clause(self, tree: exp.Expr) -> exp.Expr:
        """Add a part to a query."""
        selects = list(tree.find_all(exp.Select))
        if not selects:
            return tree
        select = self.chance.choice(selects)
        match self.chance.randrange(7):
            case 0:
                select.where(self.value(), copy=False)
            case 1:
                select.order_by(self.value(), copy=False)
            case 2:
                select.group_by(self.value(), copy=False)
            case 3:
                select.having(self.value(), copy=False)
            case 4:
                select.select(self.value(), copy=False)
            case 5:
                select.join(
                    self.any_table(),
                    on=self.value(),
                    join_type=self.chance.choice(("", "left", "full")),
                    copy=False,
                )
            case _:
                over = exp.Window(
                    this=exp.Anonymous(
                        this=self.chance.choice(self.functions), expressions=[self.any_column()]
                    ),
                    partition_by=[self.any_column()],
                )
                select.select(over, copy=False)
        return tree

    def splice(self, tree: exp.Expr) -> exp.Expr:
        """Take a piece of another tree in."""
        other = self.chance.choice(self.families if self.chance.random() < 0.7 else self.trees)
        kind = self.chance.choice((exp.Column, exp.Query, exp.Condition, exp.Table, exp.Func))
        found = list(other.find_all(kind))
        if not found:
            return tree
        return self.replaced(tree, (kind,), lambda _: self.chance.choice(found).copy())


_CHANGES: tuple[Callable[[Mutants, exp.Expr], exp.Expr], ...] = (
    Mutants.column, Mutants.column, Mutants.table, Mutants.piece, Mutants.piece, Mutants.function,
    Mutants.cast, Mutants.operator, Mutants.rename, Mutants.nest, Mutants.clause, Mutants.clause,
    Mutants.splice,
)  # fmt: skip


_MILD = (
    Mutants.column, Mutants.piece, Mutants.function, Mutants.cast, Mutants.operator, Mutants.nest,
    Mutants.clause, Mutants.clause,
)  # fmt: skip


def _reads(tree: exp.Expr) -> set[str]:
    return {table.name for table in tree.find_all(exp.Table)}


def _read(text: str) -> exp.Expr | None:
    try:
        found = sqlglot.parse_one(text, dialect="postgres")
    except SqlglotError:
        return None
    return None if isinstance(found, exp.Command) else found
