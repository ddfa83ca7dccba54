"""The language of a text, by its small words, and the German, French and Spanish words that announce names and places.

The words that announce are looked for in every text, whatever its language: notes mix languages. The language
decides only which everyday words are known, and whether nouns have capitals.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from discreet.measure.text import lexicon
from discreet.measure.text.person_names import fold_accents

# Small words that one of the four languages has and the others have not.
_SMALL_WORDS = {
    "en": "the and of to is was with for on his her she he has had not this that from by are were been which will at it my "
    "you your we they their our be have do does did can could would should please who what where when how",
    "de": "der die das und ist wurde mit nicht bei von zu den dem ein eine einen einem einer im am auf für aus nach sich als auch "
    "wird wir ich er sie es hat kein keine seit zur zum vom oder unter über durch sind war bitte sei dass noch ihre ihren unser",
    "fr": "le les et est une du à dans pour par sur avec pas sa son ses il elle au aux qui que ce cette été depuis vous nous je "
    "ne mais ou sans sous chez très lors selon vers près d l",
    "es": "el los y es una del las en para por con no su sus al se que fue desde hace ha esta este como más pero sin sobre según "
    "muy cuando también hasta lo le un tras",
}
_SMALL = {language: frozenset(words.split()) for language, words in _SMALL_WORDS.items()}

TITLES = """
herr herrn frau fräulein fraulein monsieur madame mademoiselle mme mlle mlles mmes señor señora señorita senor senora senorita sr sra srta don doña dona
dña dna dra docteur doctor doctora doktor maître professeur profesor profesora professor kollege kollegin kollegen confrère consœur veuve familie polizeibeamte polizeibeamter polizist polizistin kommissar kommissarin schwester pfleger pat pfl ide due officer nurse agent
"""
RELATIVES = """
tochter sohn ehefrau ehemann mutter vater bruder schwester gatte gattin partner partnerin lebensgefährte lebensgefährtin tante onkel
neffe nichte cousin cousine oma opa großmutter großvater enkel enkelin schwager schwägerin schwiegertochter schwiegersohn schwiegermutter
schwiegervater freund freundin nachbar nachbarin betreuer betreuerin angehörige angehöriger kinder geschwister
fille filles fils épouse époux mari femme mère père frère sœur soeur oncle neveu nièce conjoint conjointe compagne compagnon voisin voisine
ami amie tuteur tutrice grand-mère grand-père petit-fils petite-fille belle-fille beau-fils belle-mère beau-père
hija hijas hijo hijos esposa esposo marido mujer madre padre hermana hermano hermanos tía tío sobrina sobrino prima primo abuela abuelo nieta nieto
novia novio pareja vecina vecino amiga amigo cuidadora cuidador tutora tutor suegra suegro nuera yerno
"""
ROLES = """
patient patientin patienten patients arzt ärztin hausarzt hausärztin oberarzt oberärztin chefarzt chefärztin assistenzarzt assistenzärztin
stationsarzt stationsärztin notarzt kollege kollegin pfleger pflegerin pfl pat sozialarbeiterin sozialarbeiter sachbearbeiterin sachbearbeiter gutachter gutachterin mieter mieterin anruferin anrufer versicherungsnehmer versicherungsnehmerin beschuldigte beschuldigter kunde kundin halter halterin zeugen pflegekraft krankenschwester krankenpfleger therapeut therapeutin psychologe
psychologin hebamme apotheker apothekerin anwalt rechtsanwalt dolmetscher dolmetscherin kontaktperson ansprechpartner ansprechpartnerin
bezugsperson lehrerin lehrer pfarrer bewohner bewohnerin zeuge zeugin fahrer fahrerin name nachname vorname unterschrift
patiente médecin infirmier infirmière chirurgien chirurgienne interne pharmacien pharmacienne kinésithérapeute psychologue sage-femme avocat
avocate interprète aide-soignante aide-soignant assistante assistant témoin nom prénom signature assuré assurée appelant appelante suspect expert experte agent locataire propriétaire enseignante enseignant client cliente pte ide m'appelle appelle
paciente médico médica enfermera enfermero cirujano cirujana fisioterapeuta farmacéutico farmacéutica psicólogo psicóloga matrona abogado
abogada intérprete residente auxiliar testigo trabajadora social asegurado asegurada llamante agente detenido detenida perito perita inquilino inquilina propietario propietaria maestra maestro cliente pte pac due llamo nombre apellidos apellido firma
"""
# Words right before a name: by whom, with whom, according to whom, and the ends of letters.
BEFORE_NAMES = """
thx cheers lg vg mfg bises merci gracias besos abrazo
durch laut gegenüber namens genannt geborene gez grüßen gruß grüße lieber liebe geehrter geehrte
selon signé signée nommé nommée dénommé dénommée appelé appelée prénommé cordialement salutations cher chère chers remercie adressé adressée rappeler
appeler demander joindre
según firmado firmada llamado llamada llamada atentamente saludos saludo estimado estimada querido querida remitirme refiere_a remitido
"""
# Verbs that people do in notes, as patterns; an underscore is a blank.
_GERMAN_ACTS = r"""
berichtet berichtete klagt klagte gibt gab stellt stellte kommt kam wurde wird ist war hat hatte lebt wohnt wohnte verneint verneinte leidet litt nimmt
nahm arbeitet arbeitete erhielt bittet bat sagt sagte erklärt möchte fühlt zeigt zeigte besucht stürzte fiel machte macht versteht erzählte meinte
meint fehlte fehlt wünscht wünschte behauptet behauptete erreichte rief ruft fährt fuhr ging geht kann konnte will wollte soll sollte schläft schlief
"""
_FRENCH_ACTS = r"""
rapporte se_plaint présente nie décrit consulte habite vit est était a_été souffre prend travaille dit déclare signale vient revient refuse accepte
demande explique marche dort reçoit a avait était sera va doit peut souhaite s['’]est n['’]a m['’]a ne_peut comprend affirme
"""
_SPANISH_ACTS = r"""
refiere niega acude vive presenta es fue está tiene tuvo ingresa ingresó toma trabaja dice comenta relata explica rechaza acepta camina duerme recibe
consulta sufre solicita se ha había estaba era será va puede quiere me nos comprende afirma \w{2,10}ió \w{1,10}[b-df-hj-np-tv-zñ]ó
"""
ACTS = {
    language: "|".join(acts.split()).replace("_", " ")
    for language, acts in (("de", _GERMAN_ACTS), ("fr", _FRENCH_ACTS), ("es", _SPANISH_ACTS))
}
# Words before a place, in phrases that leave no doubt.
LIVES = (
    r"wohnt|wohnte|wohnen|wohnhaft|wohnend|lebt|lebte|leben|lebend|geboren|geb\.|gebürtig|aufgewachsen|arbeitet|arbeitete|stammt|kommt|zog|zogen|verzogen|gezogen|umgezogen"
    r"|umzug|reise|fuhr|flog|anreise|unfall|beruflich|tätig|praxis|urlaub|wohnort|wohnsitz|klinikum|krankenhaus|klinik|uniklinik|universitätsklinikum|hospital"
    r"|spital|heim|pflegeheim|raum|ort|nähe|reha|kur"
)
_ROMANCE_LIVES = (
    r"habite|habitait|habitant|vit|vivait|vivant|réside|résidant|née?|domiciliée?|originaire|demeurant|travaille|travaillait|installée?|installation|déménagée?|déménagement"
    r"|retour|voyage|part|parti|venue?|arrivée?|hôpital|hopital|clinique|chu|chr|ch|maternité|ville|commune|village|région|accident|naissance|cabinet|ehpad"
    r"|vive|vivía|vivir|viven|reside|residente|residía|nacid[oa]|naci[óo]|natural|domicilio|domiciliad[oa]|trabaja|trabajaba|mud[óo]|mudarse|traslad[óo]|trasladad[oa]|instal[óo]|viaje|viaj[óo]|procedente"
    r"|originari[oa]|hospital|cl[íi]nica|centro|ciudad|municipio|pueblo|provincia|localidad|nacimiento|vecin[oa]|afincad[oa]|cerca|près|proche"
)
PLACE_BEFORE = re.compile(
    rf"\b(?:{LIVES})(?: \w{{2,14}}){{0,2}} (?:in|aus|nach|bei|von|zu|um)(?: (?:die|der|den))? \Z"
    r"|\b(?:klinikum|krankenhaus|klinik|uniklinik|universitätsklinikum|wohnort:?|wohnsitz:?|geburtsort:?|ort:?|raum|stadt|gemeinde|kreis|landkreis) \Z"
    rf"|\b(?:{_ROMANCE_LIVES})(?: \w{{2,14}}){{0,2}} (?:à|a|de|d['’]|en|au|aux|du|vers|sur|dans|desde|hasta|hacia)(?: (?:la|el|los|las|le|les))? {{0,1}}\Z"
    r"|\b(?:ville|commune|lieu|lieu de naissance|ciudad|municipio|localidad|población|domicilio|provincia)(?: (?:de|d['’]|:))? {0,1}:? {0,1}\Z",
    re.IGNORECASE,
)
PREPOSITIONS_TEXT = """
in aus nach bei von um im am zu à a de en au vers depuis près sur desde hasta hacia del du cerca
"""
PREPOSITIONS = frozenset(PREPOSITIONS_TEXT.split())
_DETERMINER_WORDS = """
der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner mein meine meinen meiner sein seine seinen seinem seiner ihr
ihre ihren ihrem ihrer unser unsere unseren unserem unserer dieser diese dieses diesen diesem jeder jede jedes jeden alle allen viele vielen mehrere
mehreren einige einigen wenig wenige etwas mehr zum zur beim im am vom ins ans pro per und/oder ca circa etwa nach bei ohne gegen wegen trotz zwei
drei vier fünf sechs sieben acht neun zehn beide beiden
"""
_DETERMINERS = frozenset(_DETERMINER_WORDS.split())
_NO_ARTICLES = frozenset(
    ("pro", "per", "und/oder", "ca", "circa", "etwa", "ohne", "gegen", "wegen", "trotz")
)
_NOT_ADJECTIVES_TEXT = """
über unter oder aber immer hier gegenüber wieder wurde habe wäre sowie heute danke bitte gerne rufe bitten danken informieren kontaktieren
haben wurden werden sollen
"""
_NOT_ADJECTIVES = frozenset(_NOT_ADJECTIVES_TEXT.split())


_ENOUGH = 4


def detect_language(words: Collection[str]) -> str:
    """Return the language that most of a text's words belong to, small words counting twice.

    An empty string stands for none.

    `words` are the text's distinct words in lower case.

    >>> detect_language({"der", "patient", "wurde", "mit"}), detect_language({"mrn"})
    ('de', '')
    """
    distinct = frozenset(words)
    counts = {
        language: 2 * len(small & distinct) + len(lexicon.everyday_words(language) & distinct)
        for language, small in _SMALL.items()
    }
    best = max(counts, key=lambda language: counts[language])
    if counts[best] > _ENOUGH:
        return best
    # A short text: words count that only their endings and parts make known.
    counts = {
        language: counts[language]
        + sum(lexicon.is_ordinary(fold_accents(word), language) for word in distinct)
        for language in counts
    }
    best = max(counts, key=lambda language: counts[language])
    return best if counts[best] > 1 else ""


_PRONOUN_WORDS = {
    "de": f"{_DETERMINER_WORDS} dies man was wer wie wo wenn aber doch dann hier dort jetzt so nun dabei damit dazu danach",
    "fr": "ceci cela ils elles on nous vous quel quelle aucun aucune",
    "es": "ella ellos ellas esto eso estos estas nosotros usted ustedes nada nadie",
}
_PRONOUNS = {language: frozenset(words.split()) for language, words in _PRONOUN_WORDS.items()}


def is_function_word(word: str, language: str) -> bool:
    """Return whether a folded word is an article, a pronoun or the like, which opens sentences.

    >>> is_function_word("das", "de"), is_function_word("das", "en")
    (True, False)
    """
    return language != "en" and (
        word in _SMALL.get(language, ()) or word in _PRONOUNS.get(language, ())
    )


def is_small_word(word: str) -> bool:
    """Return whether a word in lower case is a small word of one of the languages."""
    return any(word in small for small in _SMALL.values())


def is_determiner(word: str) -> bool:
    """Return whether a German word in lower case is an article or a pronoun before a noun.

    >>> is_determiner("meine"), is_determiner("bei")
    (True, False)
    """
    return word in _DETERMINERS and word not in PREPOSITIONS and word not in _NO_ARTICLES


def stands_like_noun(before: str) -> bool:
    """Return whether the word before a capitalized German word makes that word a noun.

    >>> stands_like_noun("starke"), stands_like_noun("durch")
    (True, False)
    """
    if before in _DETERMINERS:
        return True
    is_inflected = len(before) > 4 and before.endswith(("e", "en", "er", "em", "es"))
    return is_inflected and before not in _NOT_ADJECTIVES
