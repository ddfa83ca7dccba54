"""Addresses of sources: their schemes and parameters."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from discreet.errors import WrongUsage


def without_password(place: str) -> str:
    """Return a source's address without its password, fit for records and messages.

    >>> without_password("postgresql://ann:secret@db/clinic?table=visits&password=secret")
    'postgresql://ann@db/clinic?table=visits'
    >>> without_password("patients.csv")
    'patients.csv'
    """
    if "://" not in place.partition("?")[0]:
        return place
    address, _ = take_parameter(place, "password")
    scheme, separator, rest = address.partition("://")
    # A password may hold `@` and `/` as they are: it ends at the last `@` before the parameters.
    location, mark, parameters = rest.partition("?")
    user, at, host = location.rpartition("@")
    return scheme + separator + user.partition(":")[0] + at + host + mark + parameters


def take_parameter(url: str, key: str) -> tuple[str, str | None]:
    """Return `url` without the parameter `key`, and that parameter's value.

    >>> take_parameter("postgresql://db/clinic?table=visits", "table")
    ('postgresql://db/clinic', 'visits')
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = None
    if parts is None:
        raise WrongUsage(
            "The address of the source cannot be read. Write it as postgresql://user@host/database."
        )
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    value = dict(pairs).get(key)
    kept = urlencode([pair for pair in pairs if pair[0] != key], safe="/")
    return urlunsplit(parts._replace(query=kept)) if value is not None else url, value
