"""Ways to reach a person: telephone, fax, e-mail, web and network addresses, file names of images.

Patterns begin with the sign that is rare in prose, or with a digit, and look behind it afterwards:
so the search runs at the speed of a scan for that sign. Every repeat is bounded.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from discreet.measure.text.context import word_before
from discreet.measure.text.spans import TextSpan

_MAILBOX = re.compile(r"[\w.%+'-]{1,64}\Z")
_DOMAIN = re.compile(r"@[\w-]{1,63}+(?:\.[\w-]{1,63}+){0,8}+")
_HANDLE = re.compile(r"@[A-Za-z_]\w{2,30}+(?![\w@])")
_OBFUSCATED = re.compile(
    r"(?<![\w.])[\w.+-]{1,64}+ ?[\[(]at[\])] ?[\w-]{1,63}+(?: ?(?:\.|[\[(]dot[\])]) ?[\w-]{1,63}+){1,4}+",
    re.IGNORECASE,
)
_URL = re.compile(r"(?:https?|ftps?|sftp)://[^\s<>\"\x00]{1,2000}|www\.[^\s<>\"\x00]{3,2000}", re.I)
_SITE = re.compile(
    r"\.(?:com|org|net|edu|gov|info|health|io|co\.uk|org\.uk|ac\.uk|nhs\.uk|de|fr|ca|us)(?![\w-])"
    r"(?:[/?][^\s<>\"\x00]{0,2000})?",
    re.IGNORECASE,
)
_HOST = re.compile(r"(?<![\w.@-])[A-Za-z0-9][\w-]{0,62}(?:\.[\w-]{1,63}){0,3}\Z")
_TAIL = ".,;:!?)]}'\"’”"

_IPV4 = re.compile(r"\d(?<![\w.]\d)\d{0,2}+(?:\.\d{1,3}+){3}(?:[/:]\d{1,5}+)?(?![\w]|\.\d)")
_IPV6 = re.compile(
    r"(?<![\w:.])[0-9A-Fa-f]{0,4}+(?::[0-9A-Fa-f]{0,4}+){2,8}+(?:%\w{1,15}|/\d{1,3})?+(?![\w:])"
)
_VERSION = re.compile(
    r"(?:version|ver|v|firmware|software|build|release|rev|os|ios|section|fw)[.: ]{0,3}\Z", re.I
)

_EXTENSION = (
    r"(?:[ ,;]{0,3}\(?(?:ext|extn|extension|extensión|x|durchwahl|dw|apparat|app|poste|interno|int|anexo|wewn|wew)(?![^\W\d_])"
    r"[.: ]{0,3}\d{1,6}\)?)?+"
)
_PHONE = re.compile(
    r"[(\d+](?<![\w./+-].)(?:(?<=\+)|(?<=\d)|(?<=\())"
    r"(?:(?<=\+)1[-. ]{0,2}\(?[2-9]\d\d|(?<=1)[-. ]{1,2}\(?[2-9]\d\d|(?<=[2-9])\d\d|(?<=\()[2-9]\d\d)"
    r"\)?[-. /–\u2011]{0,3}\d{3}[-. –\u2011]{1,3}\d{4}(?!\d|[-.]\d)" + _EXTENSION,
    re.IGNORECASE,
)
_INTERNATIONAL = re.compile(
    r"\+(?<!\w\+)(?=[\d ()./–-]{8,24})\d{1,4}(?:[ ./–-]{0,3}\(?\d{1,9}\)?){1,8}(?:(?=x\d)|(?!\w))"
    + _EXTENSION,
    re.I,
)
# With the trunk prefix 0: `0316/83778353`, `(01632) 960868`, `08-33 74 06`, `03 23 28 30 38`.
_NATIONAL = re.compile(
    r"[(0](?<![\w./+-].)(?:(?<=0)|0)\d{0,5}\)?(?:[ ./–-]{0,3}\(?\d{2,8}\)?){1,6}(?:(?=x\d)|(?!\w|[.,/-]\d))"
    + _EXTENSION,
    re.IGNORECASE,
)
# Without it: `612 34 56 78`, `91-123-45-67`, `664 158 683`, `310 1234567`, `74 7835-3374`, `1-786-907-3662`,
# `+1 (150) 889-9579`, `98765 43210`, `1300 123 456`, and any area code in brackets: `(4) 321 4567`.
_GROUPED = re.compile(
    r"[1-9(](?<![\w./+,-].)(?:(?<=[1-9])|[1-9])(?:\d{2}\)?(?: \d{3} \d{3}| \d{2} \d{2} \d{2}|-\d{3}-\d{3}|\.\d{3}\.\d{3})|\d\)? \d{4,5}-\d{4}|\d? \d{4} \d{4}|\d \d{3} (?:\d{2} \d{2}|\d{4})"
    r"|\d{1,2}([ .-])\d{3}\1\d{2}\1\d{2}|\d{2}([.-])\d{2}\2\d{2}\2\d{2}|\d{2}[ -]\d{6,7}|(?<=[6-9])\d{4}[ -]\d{5}|(?<=1)[38]00[ -]\d{3}[ -]\d{3}|\d{0,3}\) ?\d{3,4}[ -]?\d{4}"
    r"|\d{2}(?:\) ?|-|\.)\d{3}[-.]\d{4}|(?<=1)[-. ]\(?\d{3}\)?[-. ]{1,2}\d{3}[-. ]\d{4})(?:(?=x\d)|(?!\w)(?![.,/-]\d| ?(?:mg|ml|mcg|g|units?|IU|UI|cells|copies|euros?|€|\$)\b))"
    + _EXTENSION,
    re.IGNORECASE,
)
_DATE_SHAPE = re.compile(
    r"\(?\d{1,2}([./-])\d{1,2}\1(?:\d{2}|\d{4})(?!\d|\1\d)|\d{2}[./-]\d{4}\Z|\(?\d{2}\.\d{2}\.?(?= |\Z)"
)
_LOCAL = re.compile(
    r"\d(?<![\w./+-]\d)(?:\d{2}[-. –]\d{4}|\d{7,13}|\d{3,6})(?![\w]|[-./]\d)" + _EXTENSION, re.I
)
_CALL = re.compile(
    r"(?:phone|telephone|telefon|telefono|teléfono|téléphone|tél|móvil|movil|celular|tlf|tfno|portable|mobil|handy|rufnummer|nummer|joindre|appeler|rappeler|llamar|au|al|unter|erreichbar|contacto|fijo|tel|cell|cellphone|mobile|pager|paged|beeper|ph|call|called|callback|call back|dial|reach(?:ed)?"
    r"|contact|text(?:ed)?|landline|hotline|home|work|fax|facsimile|ext|extension)(?:[ ]?\((?:home|work|cell|h|w|c|m)\))?"
    r"(?: (?:number|no|line|nummer|número|numéro|der|le|el|es|est|ist|back|him|her|them|us|me|the|his|my|office|clinic|nurse|on|at|is|was|to|or|#)){0,4}[ .:#(-]{1,4}\Z",
    re.IGNORECASE,
)
_STRONG_CALL = re.compile(
    r"(?:phone|telephone|telefon|telefono|teléfono|téléphone|tél|móvil|celular|handy|rufnummer|tel|cell|mobile|pager|beeper|ph|landline|hotline|fax|facsimile|ext|extension|call|dial)"
    r"(?: (?:number|no|is|at|#)){0,2}[ .:#-]{1,4}\Z",
    re.IGNORECASE,
)
_CALL_WORDS = """
contacto fijo tlf tfno telefon telefono teléfono téléphone tél móvil movil celular portable mobil handy rufnummer nummer joindre appeler rappeler llamar au al unter erreichbar número numéro
phone telephone tel cell cellphone mobile pager paged beeper ph call called callback dial reach reached contact text texted
landline hotline home work fax facsimile ext extension number no line back him her them us me the his my office clinic nurse
on at is was to or
"""
_CALL_ENDS = frozenset(_CALL_WORDS.split()) | {
    "",
    "(home",
    "(work",
    "(cell",
    "home)",
    "work)",
    "cell)",
    "h)",
    "w)",
    "c)",
    "m)",
}
_FAX = re.compile(
    r"(?:fax|faxed|facsimile|telefax|télécopie|telecopie)(?: (?:number|no|is|was|at|to|#|it|them|results|records|sent|machine|line)){0,4}[ .:#)-]{0,4}\(?\Z",
    re.I,
)
_FAX_AFTER = re.compile(r" ?\(?(?:fax|f)\)", re.IGNORECASE)
_IMAGE = re.compile(r"\.(?:jpe?g|png|gif|tiff?|bmp|heic|webp|dcm|nef|raw)(?!\w)", re.IGNORECASE)
_FILE = re.compile(r"[\w~()-][\w~()./\\-]{0,120}\Z")


def find_mail(text: str) -> Iterator[TextSpan]:
    """Return e-mail addresses (F) and handles (R)."""
    for found in _DOMAIN.finditer(text):
        before = _MAILBOX.search(text, max(0, found.start() - 64), found.start())
        if before is not None:
            start = before.start() + len(before[0]) - len(before[0].lstrip(".'%+-"))
            if start < found.start():
                yield TextSpan(start, found.end(), "F", "EMAIL")
        elif (handle := _HANDLE.match(text, found.start())) is not None:
            yield TextSpan(*handle.span(), "R", "ID")


def find_hidden_mail(text: str) -> Iterator[TextSpan]:
    """Return addresses written as `kim [at] example [dot] org`."""
    return (TextSpan(*found.span(), "F", "EMAIL") for found in _OBFUSCATED.finditer(text))


def find_urls(text: str) -> Iterator[TextSpan]:
    """Return URLs with their protocol or `www` (N)."""
    for found in _URL.finditer(text):
        end = found.start() + len(found[0].rstrip(_TAIL))
        yield TextSpan(found.start(), end, "N", "URL")


def find_sites(text: str) -> Iterator[TextSpan]:
    """Return sites written without their protocol (N)."""
    for found in _SITE.finditer(text):
        host = _HOST.search(text, max(0, found.start() - 128), found.start())
        if host is not None:
            end = found.start() + len(found[0].rstrip(_TAIL))
            yield TextSpan(host.start(), end, "N", "URL")


def find_images(text: str) -> Iterator[TextSpan]:
    """Return names of image files (Q): a face may be in them."""
    for found in _IMAGE.finditer(text):
        name = _FILE.search(text, max(0, found.start() - 121), found.start())
        if name is not None:
            yield TextSpan(name.start(), found.end(), "Q", "PHOTO")


def find_ipv4(text: str) -> Iterator[TextSpan]:
    """Return IPv4 addresses (O), never version numbers."""
    for found in _IPV4.finditer(text):
        octets = re.split(r"[/:]", found[0])[0].split(".")
        is_version = _VERSION.search(text, max(0, found.start() - 14), found.start())
        if all(int(octet) < 256 for octet in octets) and not is_version:
            yield TextSpan(*found.span(), "O", "IP")


def find_ipv6(text: str) -> Iterator[TextSpan]:
    """Return IPv6 addresses (O), never times of day."""
    if "::" in text or text.count(":") > 6:
        for found in _IPV6.finditer(text):
            if _is_ipv6(re.split(r"[%/]", found[0])[0]):
                yield TextSpan(*found.span(), "O", "IP")


def _is_ipv6(address: str) -> bool:
    try:
        ipaddress.IPv6Address(address)
    except ValueError:
        return False
    return sum(sign.isdigit() for sign in address) > 0 and len(address) > 3


def find_phones(text: str) -> Iterator[TextSpan]:
    """Return telephone (D) and fax numbers (E); short ones only after a word such as `call`."""
    for pattern in (_PHONE, _INTERNATIONAL, _GROUPED):
        for found in pattern.finditer(text):
            yield _phone_span(text, *found.span())
    for found in _NATIONAL.finditer(text):
        digits = sum(sign.isdigit() for sign in found[0])
        is_grouped = not found[0].isdigit()
        if is_grouped and 7 <= digits <= 21 and not _DATE_SHAPE.match(found[0]):
            yield _phone_span(text, *found.span())


_ANY_PHONE = re.compile(
    r"\d(?<![\w./+-]\d)\d{0,5}(?:[ ./–-]\d{1,6}){1,5}(?:(?=x\d)|(?![\w]|[-./,]\d))" + _EXTENSION,
    re.I,
)


def find_short_phones(text: str) -> Iterator[TextSpan]:
    """Return local numbers, extensions and pagers after a word that announces them."""
    for found in _LOCAL.finditer(text):
        start = found.start()
        if word_before(text, start) not in _CALL_ENDS:
            continue
        digits = sum(sign.isdigit() for sign in found[0])
        cue = _CALL if digits >= 7 else _STRONG_CALL
        if cue.search(text, max(0, start - 48), start) is not None:
            yield _phone_span(text, *found.span())
    for found in _ANY_PHONE.finditer(text):
        digits = sum(sign.isdigit() for sign in found[0])
        if 7 <= digits <= 19 and word_before(text, found.start()) in _CALL_ENDS:
            cue = _CALL.search(text, max(0, found.start() - 48), found.start())
            if cue is not None and not _DATE_SHAPE.match(found[0]):
                yield _phone_span(text, *found.span())


def _phone_span(text: str, start: int, end: int) -> TextSpan:
    is_fax = _FAX.search(text, max(0, start - 40), start) or _FAX_AFTER.match(text, end)
    return TextSpan(start, end, "E", "FAX") if is_fax else TextSpan(start, end, "D", "PHONE")
