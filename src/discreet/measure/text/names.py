"""Names of people (A): by lists, by the words around them, and by the table's own name columns."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from discreet.measure.text import languages, lexicon
from discreet.measure.text.capitalized_words import (
    CapitalizedWord,
    WordKind,
    classify_word,
    find_runs,
    is_own,
)
from discreet.measure.text.context import word_before
from discreet.measure.text.likeness import name_likeness
from discreet.measure.text.person_names import fold_accents
from discreet.measure.text.spans import TextSpan

_RELATIVES = (
    r"daughters?|sons?|wife|husband|mother|father|mom|dad|mum|brothers?|sisters?|partner|spouse|nieces?|nephews?|aunt|uncle|cousins?"
    r"|grand(?:son|daughter|mother|father|child)|stepson|stepdaughter|friend|neighbou?r|roommate|caregiver|guardian|boyfriend"
    r"|girlfriend|fianc[eé]e?|twins?|baby|infant|child|proxy|sponsor|boss|co-?worker|ex-?husband|ex-?wife|landlord|hcp|poa"
)
_ROLES = (
    r"patient|pt|client|nurse|therapist|surgeon|physician|attending|resident|fellow|intern|provider|pharmacist|social worker|case manager"
    r"|counsel(?:l)?or|chaplain|interpreter|dieti[ct]ian|nutritionist|midwife|hospitalist|\w{4,16}ologist|psychiatrist|pediatrician"
    r"|anesthetist|specialist|assistant|coordinator|officer|teacher|attorney|lawyer|doctor|pcp|gp|np|rn|pa|md|tech|technician|student"
    r"|scribe|aide|veteran|detective|judge|pastor|rabbi|sister|father|reverend|professor|sergeant|captain|lieutenant|miss|imam"
    r"|carer|headteacher|tutor|pupil|classmate|colleague|supervisor|driver|passenger|customer|tenant|claimant|witness|victim|suspect|caller|applicant"
    r"|employee|receptionist|secretary|councillor|solicitor|barrister|inspector|constable|paramedic|coach|volunteer|vicar|insured|policyholder"
)
_BEFORE = re.compile(
    r"(?:(?:\b(?:dr|drs|mr|mrs|ms|mx|prof|rev|hon|sgt|lt|capt|herr|frau|se[nñ]ora?|monsieur|madame|mme|mlle|dra)\.?[ \u00a0]{0,2})"
    rf"|\b(?:{_RELATIVES})(?:-in-law)?(?:['’]s)?,? {{0,2}}(?:is |was |are |were |named |called |whose name is |name is |named |\(|, ?)?[\"“]?"
    rf"|\b(?:{_ROLES})(?:['’]s name)?,?(?: is| was| named| called| name)? {{1,2}}[\"“(]?"
    r"|\b(?:seen|signed|dictated|evaluated|examined|referred|reviewed|transcribed|performed|accompanied|interviewed|prescribed|authored|entered"
    r"|verified|witnessed|brought(?: in| here)?|raised|cared for|assisted|followed|managed|admitted|treated|approved|ordered|written|read|completed"
    r"|supervised|recommended|adopted|completed|placed|requested|obtained|provided|countersigned|cosigned|attested|authenticated|assessed|counsell?ed"
    r"|staffed|discussed|spoke|speaking|talked|met|consulted|conferred|lives|living|lived|reviewed|conversation|call|visit|appointment|follow[ -]?up|f/u"
    r"|meeting|stays|staying|agree|agrees)(?: \w{2,12})? (?:by|with|to|from|w/) {1,2}"
    r"|\b(?:brought|seeing|examined|accompanied|escorted|helped|admitted|referring|examining|evaluating|told|asked|called|contacted|paged|notified|informed|thanked?|per|saw|attn|dear|hi|hello|hey|named|alias|a\.?k\.?a\.?|n[ée]e|goes by|nicknamed"
    r"|known as|call(?:s|ed)? me|name\?|name is|names are|thanks|regards|sincerely|signed|respectfully|cordially|cc|by|introduced|met|visited|phoned|texted|emailed|messaged"
    r"|reached|updated|ask|tell|call|contact|notify|page)[,:]?[ \n]{1,3}[\"“]?"
    rf"|\b(?:(?:{_RELATIVES}|{_ROLES}|name|full name|(?:first|last|middle|maiden|family|given)[ -]name|surname|contact|next of kin|nok|guarantor|subscriber|author|signed|from|to|re"
    r"|by|cc|attn|kin|emergency contact|legal guardian|informant|insured|member|dictator|signature|witness|examiner|consultant|operator|anesthesia)"
    r"(?:[ ]?(?:name|\(s\)))?[ \t]{0,2}[:=#][ \t]{0,6})"
    r")\Z",
    re.IGNORECASE,
)
_SIGNATURE = re.compile(r"(?:\n|\A)[ \t]{0,4}(?:-|—|–|~|\*)[ \t]{0,3}\Z|(?:--|/s/)[ \t]{0,3}\Z")
_AFTER = re.compile(
    r",? {0,2}(?:\(?(?:M\.?D|D\.?O|R\.?N|N\.?P|PA-?C|Ph\.?D|LCSW|LICSW|LPN|CRNA|DPT|PT|OTR(?:/L)?|OT|PharmD|RPh|DDS|DMD|DPM|FNP(?:-?[BC]{1,2})?|APRN|MSW|RD|CNM|CNA|MPH"
    r"|FACP|FACS|MBBS|BSN|MSN|DNP|CNS|SLP|CCC-SLP|RRT|EMT|CMA|Esq|Jr|Sr|III|II)\b)"
)
# Verbs that people do in notes, in forms that no heading has.
_ACTS = (
    r"reports|denies|states|says|said|lives|complains|endorses|admits|feels|returns|tells|told|wants|agrees|agreed|declines|declined|refuses"
    r"|refused|asks|asked|thinks|believes|recalls|lived|works|worked|smokes|drinks|takes|prefers|understands|verbalized|verbalizes|walked"
    r"|called|calls|phoned|visits|visited|brought|drove|cares|requests|requested|notes that|noticed|mentions|mentioned|describes|described|explains"
    r"|explained|arrived|presents|presented|expressed|insists|insisted|wishes|plans to|tolerated|underwent|continues to|appears|looks|seems|sat|slept"
    r"|ate|fell|woke|cried|signed|attended|accompanied|stopped by|came|went|is (?:a|an|the|her|his|their|doing|here|feeling|seen|able|aware|in|not|at|on|my|our)"
    r"|was (?:seen|a|an|born|admitted|discharged|doing|brought|found|started|given|told|advised|last|able|in|at|not|very|here|evaluated|referred|transferred)"
    r"|has (?:been|a|had|no|not|two|three|done|lost)|had (?:a|been|no)|will (?:be|call|return|follow|need|see|continue)|did not|does not|can"
)
_DOES = re.compile(
    rf"['’]?(?:,? (?:who|and (?:his|her))|(?: also| then| still| again| now| further| currently| today)? (?:{_ACTS}))\b",
    re.IGNORECASE,
)
_STRICT = re.compile(
    r" (?:also |then |again )?(?:reports|reported|denies|denied|states|stated|says|said|lives|complains|complained|endorses|endorsed|admits to|admitted to"
    r"|feels|felt|tells|told|wants|wanted|agrees|agreed|refuses|refused|declines|declined|smokes|drinks|recalls|insists|asked|asks|thinks|believes|tolerated"
    r"|underwent|walked|slept|fell|ate|arrived|verbalized|ambulated|consented|was (?:seen|born|admitted|discharged|brought|advised|counseled|told|married)"
    r"|hit|pushed|kicked|bit|confirmed|answered|replied|paid|attended|emailed|texted|needs|needed|gave|took|got|laughed|cried|apologi[sz]ed|thanked|promised"
    r"|called|phoned|presented|shouted|began|had given|spoke|wrote|married|moved|and (?:his|her)|is (?:very|so|from|always)|is (?:a|an) \d{1,3}|is (?:married|retired|widowed|single|divorced|doing|feeling|awake|alert))\b",
    re.IGNORECASE,
)
_OWNS = re.compile(
    rf"['’]s? (?:{_RELATIVES}|room|chart|family|care|house|home|bed|case|labs|results|appointment|parents|children|hospital|condition|surgery)\b",
    re.IGNORECASE,
)
_HEADS = re.compile(
    r"(?:['’]s?)?(?:[ -]{1,2}(?:[A-Z][a-zé]{1,14}[ -])?)(?:diseases?|exam|syndrome|palsy|sign|test|scores?|scale|lymphoma|thyroiditis|contracture|criteria|man(?:oeu|eu)ver|esophagus"
    r"|fractures?|catheter|procedure|classification|stain|formula|equation|sarcoma|tumou?r|cells?|bod(?:y|ies)|phenomenon|reflex|anemia|nodes?|dementia"
    r"|chorea|purpura|ulcers?|cysts?|hernia|diverticul(?:um|a|itis)|malformation|anomaly|tetralogy|triad|encephalopathy|aphasia|psychosis|respirations?"
    r"|drain|tube|valve|line|port|stage|stages|index|coma|nephropathy|vasculitis|granulomatosis|esophagitis|tears?|operation|repair|incision|method"
    r"|traction|splint|gait|law|rule|bands?|spots?|ataxia|dystrophy|atrophy|parkinsonism|negative|positive|medium|agar|duct|canal|artery|muscle|ligament|lesion|deformity|spine|ring|web|pouch|flap|graft|wires?|clips?)\b",
)
_DEVICES = (
    "foley doppler babinski romberg valsalva apgar glasgow hickman swan ganz gram gleason snellen wolff-parkinson-white child-pugh guillain-barre "
    "creutzfeldt-jakob ehlers-danlos charcot-marie-tooth henoch-schonlein stevens-johnson budd-chiari zollinger-ellison wernicke-korsakoff epstein-barr "
    "mallory-weiss prader-willi lennox-gastaut sturge-weber klippel-feil cheyne-stokes swan-ganz jackson-pratt kaplan-meier lasegue"
)
_ALONE = frozenset(_DEVICES.split())
_CUE_WORDS = """
dr drs mr mrs ms mx prof rev hon sgt lt capt herr frau señor señora senor senora monsieur madame mme mlle dra
daughter daughters son sons wife husband mother father mom dad mum brother brothers sister sisters partner spouse niece nieces nephew
nephews aunt uncle cousin cousins grandson granddaughter grandmother grandfather grandchild stepson stepdaughter friend neighbor
neighbour roommate caregiver guardian boyfriend girlfriend fiance fiancé fiancee fiancée twin twins baby infant child proxy sponsor boss
coworker co-worker ex-husband ex-wife landlord hcp poa is was are were named called name
patient pt client nurse therapist surgeon physician attending resident fellow intern provider pharmacist worker manager counselor
counsellor chaplain interpreter dietitian dietician nutritionist midwife hospitalist psychiatrist pediatrician anesthetist specialist
assistant coordinator officer teacher attorney lawyer doctor pcp gp np rn pa md tech technician student scribe aide veteran detective
judge pastor rabbi reverend professor sergeant captain lieutenant miss imam carer headteacher tutor pupil classmate colleague supervisor driver
passenger customer tenant claimant victim suspect caller applicant employee receptionist secretary councillor solicitor barrister
inspector constable paramedic coach volunteer vicar policyholder
brought seeing examined accompanied escorted helped admitted referring examining evaluating by with w/ to from told asked contacted paged notified informed thank thanked per saw attn dear hi hello hey alias aka a.k.a nee née
nicknamed as thanks regards sincerely signed respectfully cordially cc introduced met visited phoned texted emailed messaged reached
updated ask tell call contact notify page me name? surname kin nok guarantor subscriber author re informant insured member dictator signature
witness examiner consultant operator anesthesia contact(s) names name(s) first last middle maiden
"""
_CUE_ENDS = frozenset(_CUE_WORDS.split())
_FOREIGN_CUES = frozenset(
    f"{languages.TITLES} {languages.RELATIVES} {languages.ROLES} {languages.BEFORE_NAMES}".split()
)
_FOREIGN_CUE = re.compile(r"[ \n]{0,2}[,:(.]{0,2}[ \n]{1,3}[\"“(]?\Z")
_FOREIGN_BY_TEXT = """
von mit durch an für bei par avec chez por con para by
"""
_FOREIGN_BY = frozenset(_FOREIGN_BY_TEXT.split())
# Words that a name follows without an article, where an everyday word has one.
_BEFORE_PEOPLE_TEXT = {
    "en": "to from with by and told reach met bit hit saw says said asked called helped wrote replied per both",
    "fr": "par avec chez pour et à dit selon après vu croisé mordu",
    "es": "con por para y a dice dijo según vio avisó llamó",
}
_BEFORE_PEOPLE = {
    language: frozenset(words.split()) for language, words in _BEFORE_PEOPLE_TEXT.items()
}
_FOREIGN_DOES = {
    language: re.compile(rf",? (?:{acts})\b", re.IGNORECASE)
    for language, acts in languages.ACTS.items()
}
_HEADS_BEFORE = re.compile(
    r"(?:\bmorbus|\bM\.|\b(?:maladie|syndrome|signes?|man(?:œ|oe)uvre|score|test|échelle|indice|enfermedad|síndrome|sindrome|signo|maniobra|escala|índice|prueba|chorée|corea|anémie"
    r"|anemia|thyroïdite|tiroiditis|lymphome|linfoma|tumeur|tumor|sarcome|sarcoma|hernie|hernia|fracture|fractura) (?:de |d['’]|del )|\bnach|\bde) ?\Z",
    re.IGNORECASE,
)
_OPENS = re.compile(r"(?:\A|[.!?:;\n•*>|]|\n[ \t]{0,8}[-–]|\d\))[ \t\"“'(\[]{0,4}\Z")
_AND = re.compile(
    r"(?:['’]s?)?(?:, | and | & | or |, and | / |/|; | und | et | y | e | ou | o | oder )(?:(?:his|her|their) \w{3,12},? )?\Z"
)
_INSIDE = re.compile(r"[^\W\d_A-Z][,;]?(?: [\"“(]?|['’])\Z")
_PRODUCT_AFTER = re.compile(
    r" (?:\d|mg|mcg|units?|implants?|stents?|devices?|antigens?|antibod|titers?|virus|infection|cultures?|therapy|inhaler|cream|injections?|infusion"
    r"|tablets?|capsules?|patch|protocol|stud(?:y|ies)|trial|vaccine|monitor|pump|system|screws?|plates?|prosthesis|drops|spray|ointment|gel|dressing|assay"
    r"|species|spp|bacteria|bacteremia|pneumonia|once|twice|daily|nightly|weekly|po\b|bid|prn|qhs|dose)",
)
_PRODUCT_WORDS = """
started starting start stopped stopping stop taking takes take took on switched increased decreased continue continued resume resumed hold held
grew grow using used use added add prescribed given received receiving tolerating tried try failed of the a an positive negative
"""
_PRODUCT_ENDS = frozenset(_PRODUCT_WORDS.split())
_BEFORE_AND = re.compile(r"(?P<word>[^\W\d_a-zß-öø-ÿ][^\W\d_]{2,24}) (?:and|or) \Z")
_LIMIT = 5  # a longer run of capitals is a heading


@dataclass(frozen=True, slots=True)
class _Run:
    """A run of words that may be a name, with what stands around it."""

    text: str
    words: list[CapitalizedWord]
    follows: bool  # a name stands before it, joined by `and` or a comma
    language: str

    @property
    def start(self) -> int:
        return self.words[0].start

    @property
    def end(self) -> int:
        return self.words[-1].end

    @property
    def is_cued(self) -> bool:
        return (
            (self.follows and self.end - self.start > _SHORT_WORD)
            or bool(self.words[0].kind & WordKind.TITLED)
            or is_announced(self.text, self.start)
            or _SIGNATURE.search(self.text, max(0, self.start - 12), self.start) is not None
            or _AFTER.match(self.text, self.end) is not None
        )

    @property
    def is_eponym(self) -> bool:
        """Return whether an illness, sign or device is named, not a person."""
        last = self.words[-1]
        if (
            last.kind & WordKind.EPONYM
            and len(self.words) == 1
            and _HEADS_BEFORE.search(self.text, max(0, self.start - 24), self.start)
        ):
            return True
        if _HEADS.match(self.text, last.end):
            return not any(
                word.kind & WordKind.GIVEN and not word.kind & WordKind.EPONYM
                for word in self.words
            )
        if len(self.words) > 1 or not last.kind & WordKind.EPONYM:
            return False
        written = fold_accents(self.text[last.start : last.end])
        alone = written in _ALONE
        return alone or (last.possessive and not _OWNS.match(self.text, last.end))

    @property
    def opens_sentence(self) -> bool:
        return _OPENS.search(self.text, max(0, self.start - 8), self.start) is not None

    @property
    def acts(self) -> bool:
        """Return whether the next words are what people do or have.

        At the start of a sentence an everyday word is capitalized anyway, so more is asked of it.
        """
        strict = self.opens_sentence and not self.words[0].kind & WordKind.UNKNOWN
        pattern = _STRICT if strict else _DOES
        patterns = (pattern, _STRICT, _OWNS, _FOREIGN_DOES.get(self.language, _STRICT))
        is_acting = any(known.match(self.text, self.end) for known in patterns)
        return is_acting and not self.follows_capital  # `Sports Day is in summer`

    @property
    def follows_capital(self) -> bool:
        """Return whether a longer word with a capital stands right before it."""
        if self.text[self.start - 1 : self.start] != " ":
            return False
        first = self.text.rfind(" ", max(0, self.start - 24), self.start - 1) + 1
        word = self.text[first : self.start - 1]
        return len(word) > 2 and word.isalpha() and word[0].isupper()

    @property
    def may_act(self) -> bool:
        """Return whether the next words may be a person's: enough for a name of the own columns."""
        possessive = self.words[-1].possessive or self.text.startswith((" 's", " ’s"), self.end)
        return (
            possessive or self.is_cued or self.acts or _DOES.match(self.text, self.end) is not None
        )

    @property
    def is_inside(self) -> bool:
        """Return whether a word in small letters stands right before it."""
        return _INSIDE.search(self.text, max(0, self.start - 4), self.start) is not None

    @property
    def is_labelled(self) -> bool:
        """Return whether a colon or a title stands right before it."""
        return self.text[max(0, self.start - 3) : self.start].rstrip().endswith((":", "."))

    @property
    def is_product(self) -> bool:
        """Return whether the words around speak of a drug, a germ or a device."""
        if _PRODUCT_AFTER.match(self.text, self.end) is not None:
            return True
        if len(self.words) > 1 or self.language not in ("", "en"):
            return False
        before = word_before(self.text, self.start)
        if before in ("and", "or"):
            earlier = _BEFORE_AND.search(self.text, max(0, self.start - 30), self.start)
            kind = classify_word(earlier["word"], self.language) if earlier is not None else 0
            return bool(kind & WordKind.ORDINARY)
        return before in _PRODUCT_ENDS


def is_announced(text: str, start: int) -> bool:
    """Return whether a title, a relative, a role or a verb before `start` announces a name."""
    word = word_before(text, start)
    if word in _FOREIGN_CUES and _FOREIGN_CUE.search(text, max(0, start - 6), start):
        return True
    if word not in _CUE_ENDS and not word.endswith(("ologist", "in-law", "'s", "’s")):
        return False
    return _BEFORE.search(text, max(0, start - 44), start) is not None


_WITH = re.compile(r"(?<!\w)[Mm]it \Z")
_SPOKEN = re.compile(
    r" (?:(?:tele(?:f|ph)onisch|persönlich|gestern|heute) )?(?:besprochen|abgesprochen|gesprochen|abgestimmt|geredet|telefoniert|vereinbart)\b"
)


def is_spoken_to(text: str, start: int, end: int) -> bool:
    """Return whether something was discussed with what stands there: in German no article announces a person's name."""
    return _SPOKEN.match(text, end) is not None and bool(
        _WITH.search(text, max(0, start - 5), start)
    )


def find_names(text: str, own: Collection[str], language: str) -> Iterator[TextSpan]:
    """Return names of people; `own` are the words of the table's name columns, folded."""
    last_end = -1
    for words in find_runs(text, own, language):
        follows = last_end >= 0 and _AND.match(text, last_end, words[0].start) is not None
        run = _Run(text, words, follows, language)
        start, end = _name_in(run)
        if end > start:
            start = _start_with_particle(text, start, language)
            end = _end_with_family(run, end)
            yield TextSpan(start, end, "A", "NAME")
            last_end = end
    if own:
        yield from _find_own_lower(text, own)


_PARTICLE_BEFORE = re.compile(
    r"(?<![\w'’-])(?:van|von|vom|zu|ter|ten|de la|de las|de los|van de[rn]?|von de[rn]?)[ ]\Z"
)
_SMALL_PARTICLE_BEFORE = re.compile(
    r"(?<![\w'’-])(?:de|del|della|da|das|di|do|dos|du|des|d['’]|l['’])[ ]?\Z"
)


def _start_with_particle(text: str, start: int, language: str) -> int:
    """Return where a name begins that has a particle before it: `van Poppel`, `de la Cruz`."""
    window = max(0, start - 10)
    found = _PARTICLE_BEFORE.search(text, window, start)
    if found is None and language in ("", "en"):
        # In French and Spanish these are prepositions.
        found = _SMALL_PARTICLE_BEFORE.search(text, window, start)
    return found.start() if found else start


_FAMILY_AFTER = re.compile(
    r" (?P<family>[^\W\d_a-zß-öø-ÿ][^\W\d_]{2,20}(?:-[^\W\d_]{2,20})?)(?![\w'’-])"
)


def _end_with_family(run: _Run, end: int) -> int:
    """Return where a name ends: one announced word takes a second one along that no list has."""
    if len(run.words) > 1 or run.words[0].possessive or not run.is_cued:
        return end
    found = _FAMILY_AFTER.match(run.text, end)
    if found is None or not found["family"].istitle():
        return end
    plain = fold_accents(found["family"])
    return (
        end
        if plain in lexicon.everyday_words(run.language or "en") or lexicon.is_country(plain)
        else found.end()
    )


def _name_in(run: _Run) -> tuple[int, int]:
    """Return where the name stands in a run; an empty place for none."""
    words = run.words
    if len(words) > _LIMIT:
        sure = [word for word in words if word.is_sure]
        return (sure[0].start, sure[-1].end) if sure else (0, 0)
    if any(word.kind & WordKind.OWN and not word.kind & WordKind.ORDINARY for word in words):
        return run.start, run.end
    if run.is_eponym:
        return 0, 0
    accepted = _is_single(run) if len(words) == 1 else _is_several(run)
    return (run.start, run.end) if accepted else (0, 0)


def _is_single(run: _Run) -> bool:
    """Return whether one capitalized word is a name."""
    word = run.words[0]
    if word.kind & WordKind.INITIAL:
        return False
    if word.kind & WordKind.UPPER:
        length = word.end - word.start
        if word.kind & WordKind.NAME:
            return (word.is_sure and length > 3) or (length > 2 and run.is_cued)
        is_titled = bool(word.kind & WordKind.TITLED)
        return length > _SHORT_WORD and (is_titled or (run.is_labelled and run.is_cued))
    if word.is_sure:
        return not _is_german_noun(run)
    if word.kind & WordKind.OWN:
        return not _is_month(run) and (not run.opens_sentence or run.may_act)
    before = word_before(run.text, run.start)
    is_noun = run.language == "de" and languages.stands_like_noun(before)
    if (run.is_cued and not _is_month(run)) or (run.acts and not is_noun) or _is_met(run, before):
        return True
    is_by = run.language != "en" and bool(word.kind & WordKind.NAME) and before in _FOREIGN_BY
    return run.is_inside if is_by else not is_noun and _is_capital_name(run)


def _is_german_noun(run: _Run) -> bool:
    """Return whether an article makes a noun of a name that few people have: `die Reha`."""
    kind = run.words[0].kind
    if run.language != "de" or not kind & WordKind.RARE or kind & WordKind.OWN:
        return False
    return languages.is_determiner(word_before(run.text, run.start))


def _is_met(run: _Run, before: str) -> bool:
    """Return whether a common name that is also an everyday word stands where people do: `told Woods`."""
    kind = run.words[0].kind
    if (
        not kind & WordKind.NAME
        or kind & WordKind.RARE
        or before not in _BEFORE_PEOPLE.get(run.language, ())
    ):
        return False
    is_thing = lexicon.is_country(fold_accents(run.text[run.start : run.end]))
    return run.is_inside and not is_thing and not _is_month(run)


def _is_capital_name(run: _Run) -> bool:
    """Return whether a capital makes a name: inside a sentence no other word has one, unless a list knows it."""
    word = run.words[0]
    if not word.kind & WordKind.UNKNOWN or word.kind & WordKind.EPONYM:
        return False
    if word.end - word.start <= _SHORT_WORD or run.is_product:
        return False
    likeness = _likeness_of(run, word)
    if run.is_inside:
        # People are met, called and seen without an article; things rarely are.
        is_met = word_before(run.text, run.start) in _FOREIGN_BY
        return likeness > (2 * _UNLIKE if is_met else _UNLIKE)
    return likeness > _LIKE or _opens_as_town(run)


# Logarithms of odds: inside a sentence a capital is evidence, at its start it is none.
_UNLIKE, _LIKE = -2.0, 1.0
_WORD_PARTS = re.compile(r"[^\W\d_]++")


def _likeness_of(run: _Run, word: CapitalizedWord) -> float:
    """Return how much a word looks like a name: of a hyphenated one, the part that does so most."""
    parts = _WORD_PARTS.findall(fold_accents(run.text[word.start : word.end]))
    return max(name_likeness(part, run.language) for part in parts)


_SHORT_WORD = 3
_LONG_TOWN = 6
_GOES_ON = re.compile(r"(?:['’]s)? [^\W\d_A-Z]")


def _opens_as_town(run: _Run) -> bool:
    """Return whether a word opens a sentence as the name of a town, too long to be much else."""
    written = run.text[run.start : run.end]
    return (
        len(written) >= _LONG_TOWN
        and fold_accents(written) in lexicon.towns()
        and _GOES_ON.match(run.text, run.end) is not None
    )


def _is_several(run: _Run) -> bool:
    """Return whether neighboring capitalized words are one name."""
    words = [word for word in run.words if not word.kind & WordKind.INITIAL]
    upper = [word for word in words if word.kind & WordKind.UPPER]
    if not words:
        return False
    if any(word.is_sure for word in words):
        return len(upper) < 2 or any(word.is_sure and word.end - word.start > 2 for word in upper)
    if run.is_cued:
        return True
    if upper:
        return run.acts and all(word.end - word.start > 2 for word in words)
    if run.words[0].kind & WordKind.INITIAL and len(words) == 1:
        # `J. Brzezicki`, but not `the class is B. Fingerprints were taken`.
        return (
            run.acts
            or not run.is_inside
            or run.text[run.start - 2] == ","
            or word_before(run.text, run.start) in _FOREIGN_BY
            or (bool(words[0].kind & WordKind.UNKNOWN) and _likeness_of(run, words[0]) > _UNLIKE)
        )
    if len(words) < len(run.words):
        return True
    if words[0].kind & WordKind.GIVEN and words[-1].kind & (WordKind.FAMILY | WordKind.UNKNOWN):
        return True
    return (
        not run.is_product
        and all(word.end - word.start > 1 for word in words)
        and any(not word.kind & WordKind.ORDINARY for word in words)
    )


_MONTHS = frozenset(("may", "april", "june", "august", "march"))
_SINCE_WORDS = """
in since last next until till by early late mid this of during from to through before after around past previous every between
and or for
"""
_SINCE = frozenset(_SINCE_WORDS.split())


def _is_month(run: _Run) -> bool:
    """Return whether `May`, `April`, `June` or `August` is the month."""
    word = fold_accents(run.text[run.start : run.end])
    return word in _MONTHS and word_before(run.text, run.start) in _SINCE


_LOWER_FAMILY = re.compile(
    r"(?: (?:de |van |von |del |da |dos |la )?(?P<family>[^\W\d_A-Z]{2,20}(?:[-'’][^\W\d_A-Z]{2,20})?))(?![\w'’])"
)
_LOWER_CUE = re.compile(
    r"(?:\b(?:pt|pat\.?|pte\.?|pac\.?|patient|patientin|patiente|paciente|my name is|i am|name is|name:|je m['’]appelle|me llamo|ich heiße|mein name ist) )(?P<given>[^\W\d_A-Z]{3,20}(?:-[^\W\d_A-Z]{2,20})?)(?![\w'’])"
)
_LOWER_CUES_TEXT = """
pt pat pte pac patient patientin patiente paciente name am appelle llamo heiße hr fr frau herr mr mrs ms mme sr sra señor señora monsieur madame
"""
_LOWER_CUES = frozenset(_LOWER_CUES_TEXT.split())
_LOWER_WORDS = 3


def find_lower_names(text: str, words: set[str], language: str) -> Iterator[TextSpan]:
    """Return full names in small letters: a known given name, or any word after `pt` or `my name is`.

    `words` are the text's distinct words as written. The words after the given name must be family
    names or unknown, and no everyday words.
    """
    accented = {word for word in words if not word.isascii() and word.islower()}
    known = {word for word in accented if fold_accents(word) in lexicon.given_names()}
    for given in sorted(
        word
        for word in (words & lexicon.given_names()) | known
        if not lexicon.is_everyday(fold_accents(word), language)
    ):
        for found in re.finditer(rf"(?<![\w@./-]){given}(?![\w@./])", text):
            end = _end_of_lower_name(text, found.end(), language)
            family = fold_accents(text[found.end() : end]).strip()
            is_sure = fold_accents(given) in lexicon.common_names()
            if family and (is_sure or family in lexicon.family_names()):
                yield TextSpan(found.start(), end, "A", "NAME")
    for found in _LOWER_CUE.finditer(text) if not words.isdisjoint(_LOWER_CUES) else ():
        plain = fold_accents(found["given"])
        if not lexicon.is_everyday(plain, language) or plain in lexicon.given_names():
            end = _end_of_lower_name(text, found.end(), language)
            if end > found.end():
                yield TextSpan(found.start("given"), end, "A", "NAME")


def _end_of_lower_name(text: str, end: int, language: str) -> int:
    """Return where a name in small letters ends whose given name ends at `end`."""
    for _ in range(_LOWER_WORDS):
        found = _LOWER_FAMILY.match(text, end)
        if found is None:
            break
        plain = fold_accents(found["family"])
        is_family = plain in lexicon.family_names() and language != "en"
        if languages.is_small_word(plain):
            break
        if lexicon.is_everyday(plain, language) and not is_family:
            break
        if plain not in lexicon.family_names() and name_likeness(plain, language) < _UNLIKE:
            break
        end = found.end()
    return end


_KIN = re.compile(
    r"\b(?:wife|husband|mother|father|mom|dad|son|daughter|brother|sister|aunt|uncle|niece|nephew|partner|"
    r"spouse|friend|caregiver|guardian),? (?P<name>[a-z]{3,20})(?![\w'’-])"
)


def find_kin(text: str) -> Iterator[TextSpan]:
    """Return given names in small letters after a word for a relative: `wife maria`."""
    for found in _KIN.finditer(text):
        word = found["name"]
        if word in lexicon.given_names() and not lexicon.is_everyday(word):
            yield TextSpan(*found.span("name"), "A", "NAME")


_TITLED = re.compile(
    r"\b(?:dr|mr|mrs|ms|prof|hr|fr|frau|herr|herrn|mme|mlle|sr|sra|srta|señora?|monsieur|madame)\.? (?P<name>[^\W\d_A-Z]{3,20})(?! ?[a-z]{0,20}(?:ologist|office))(?!\w)"
)


def find_titled_names(text: str, language: str) -> Iterator[TextSpan]:
    """Return names in small letters after a title: `dr. smith`, `hr. schmidt`."""
    for found in _TITLED.finditer(text):
        word = fold_accents(found["name"])
        if (
            word in lexicon.family_names()
            or word in lexicon.given_names()
            or not (lexicon.is_everyday(word, language) or languages.is_small_word(word))
        ):
            yield TextSpan(*found.span("name"), "A", "NAME")


def _find_own_lower(text: str, own: Collection[str]) -> Iterator[TextSpan]:
    """Return the table's own names in small letters, unless they are everyday words."""
    for found in _OWN_WORD.finditer(text):
        word = found[0]
        if len(word) > 2 and is_own(word, own) and not lexicon.is_everyday(fold_accents(word)):
            yield TextSpan(*found.span(), "A", "NAME")


_OWN_WORD = re.compile(r"[^\W\d_A-Z](?<!\w.)(?:[^\W\d_]|[\u0300-\u036f]|['’-](?=[^\W\d_]{2}))*+")
