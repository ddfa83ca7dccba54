"""Person names by content: common names of several languages, and the shape of a full name."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

# Common given names; accents are dropped before the comparison. A modest list is enough: what is
# judged is the share of a column's values that start with a given name, not one value.
_GIVEN = """
aaron abdul abigail adam adele adrian adriana agnes ahmed aisha alan albert alberto aldo alejandra
alejandro alessandra alessandro alex alexander alexandra alexandre alfonso alfred ali alice alicia
alina alison allison alma amanda amber amelia amina amy ana anastasia andre andrea andreas andres
andrew angel angela angelica angelo anita anja ann anna anne annette annie anthony antoine anton
antonia antonio anthea april arjun arlene arnold arthur ashley astrid audrey aurora ava axel barbara
beate beatrice beatriz becky ben benedict benjamin bernadette bernard bernd beth betty beverly
bianca bill billy birgit blanca bob bonnie boris brandon brenda brent brian bridget brigitte bruce
bruno bryan caleb calvin camila camille carl carla carlo carlos carmen carol carolina caroline carrie
catherine cecile cecilia cedric celia celine chantal charles charlie charlotte chen cheryl chloe chris
christa christian christiane christina christine christopher christophe cindy claire clara claude
claudia claudio clement colin connie constance corinne craig cristian cristina crystal cynthia daisy
damian dan dana daniel daniela daniele danielle danny daphne darren dave david dawn dean debbie
deborah debra denise dennis derek diana diane diego dieter dirk dmitri dominic dominique don donald
donna dora doris dorothy douglas duncan dylan earl eddie edgar edith edmund eduardo edward edwin
eileen elaine elena eleanor elias elisa elisabeth elise eliza elizabeth ella ellen elsa elvira emil
emilia emilie emily emma emmanuel enrico enrique eric erica erik erika erin ernest ernst esteban
esther ethan eugene eva evan evelyn fabian fabio fatima federico felicia felipe felix fernanda
fernando filip fiona flora florence florian frances francesca francesco francis francisco francois
francoise frank franz fred frederic frederick frieda friedrich gabriel gabriela gabriele gareth gary
gavin gemma george georges gerald gerard gerda gerhard gertrude gilbert gina giorgio giovanna
giovanni giulia giuseppe glenn gloria gonzalo grace graham grant greg gregory greta guido guillaume
guillermo gunther gustav guy hanna hannah hans harald harold harriet harry hassan hazel heather
hector heidi heike heinrich heinz helen helena helene helga helmut hendrik henri henrik henry herbert
herman hilary hilda holger holly horst howard hugh hugo ian ibrahim ida ignacio igor ilse ines inge
ingrid irene iris irina isaac isabel isabella isabelle ivan jack jackie jacob jacqueline jacques
jaime jake james jamie jan jana jane janet janice jasmine jason javier jay jean jeanne jeff jeffrey
jennifer jenny jens jeremy jerome jerry jesse jessica jesus jill jim jimmy joan joanna joao joaquin
joe joel johan johanna johannes john johnny jon jonas jonathan jorge jose josef joseph josephine
joshua joyce juan juana juanita judith judy jules julia julian juliana julie julien juliette julio
jurgen justin karen karin karl karla katarina kate katharina katherine kathleen kathryn kathy katie
katrin kay keith kelly ken kenneth kerry kevin kim kimberly kirsten klaus krystyna kurt kyle lara
larry lars laura lauren laurence laurent lea leah lee lena leo leon leonard leonardo leonie leslie
leticia lewis liam lidia lilian lily linda lisa lois lola lorenzo loretta lori lorraine louis louise
luca lucas lucia lucie lucy luigi luis luisa luke luz lydia lynn madeleine madison magdalena maggie
malcolm manfred manuel manuela marc marcel marcela marcelo marcia marco marcos marcus margaret
margarita margot maria mariana marianne marie mariam marilyn marina mario marion marisa marjorie
mark marko markus marlene marta martha martin martina martine marvin mary maryam mason massimo
mateo mathieu mathilde matteo matthew matthias matthieu maureen maurice mauricio max maxime
maximilian maya megan mehmet melanie melinda melissa mercedes mia michael michaela michel michele
michelle miguel mikael mike mikhail mila mildred miriam mitchell mohamed mohammad mohammed moira
molly monica monika monique muhammad muriel mustafa myriam nadia nadine nancy naomi natalia natalie
natasha nathalie nathan neil nelson nicholas nick nico nicola nicolas nicole nigel nils nina noah noel
nora norma norman nuria olaf olga oliver olivia olivier omar oscar oskar otto pablo pamela paola paolo
pascal patricia patrick patrizia paul paula paulo pavel pedro peggy penelope per peter petra phil
philip philippe phillip phyllis pia pierre pieter pilar piotr priya rachel rafael rahul rainer raj
ralf ralph ramon randall randy raul raymond rebecca regina reinhard remi renate rene renee ricardo
riccardo richard rick rita rob robert roberta roberto robin rodrigo roger roland rolf roman ronald
rosa rosalie rosario rose rosemary ross roxanne roy ruben rudolf russell ruth ryan sabine sabrina
sally salvador salvatore sam samantha samuel sandra sandrine sandy santiago sara sarah sascha scott
sean sebastian sergei sergio shane shannon sharon sheila shirley sibylle sidney silke silvia simon
simone sofia sonia sophia sophie stacy stanislav stefan stefania stefano stella stephan stephanie
stephen steve steven stuart sue susan susana susanna susanne suzanne sven svetlana sybil sylvia
sylvie tamara tania tanya tara teresa terry thea theo theodore theresa therese thierry thomas tiffany
tim timothy tina tobias todd tom tomas tommaso tony tracy trevor ulrich ulrike ursula ute uwe
valentina valeria valerie vanessa vera veronica veronika vicente vicki victor victoria viktor
vincent vincenzo viola virginia vivian vladimir walter wanda warren wendy werner wilhelm will willem
william wolfgang xavier yannick yasmin yolanda yves yvette yvonne zachary zoe
"""
_FAMILY = """
adams aguilar ahmed alexander ali allen almeida alonso alvarez andersen anderson andersson andrade
bailey baker barbieri barnes bauer baumann becker bell bennett berg bernard bianchi bianco blanc blom
bos brandt brooks brouwer brown bruno butler campbell cardoso carlsson carter carvalho castillo
castro chavez chen clark coleman collins colombo conti cook cooper costa cox cruz david davies davis
dekker delgado deluca diaz dias dijkstra dominguez dubois dupont duran durand edwards ellis eriksson
esposito evans fernandes fernandez ferrari ferreira fischer flores foster fournier franco frank fuchs
gallo garcia garnier george giordano girard gomes gomez goncalves gonzales gonzalez gray greco green
griffin guerin gupta gutierrez hall hansen harris hartmann hayes henderson hendriks henry hernandez
herrmann hill hoffmann hofmann howard huber hughes hussain ivanov jackson jacobs jaeger james jansen
janssen jansson jenkins jensen jimenez johansson johnson jones joshi jung kaiser kaur keller kelly
khan kim king klein koch koenig kowalski krause kruger kuhn kumar lambert lange larsen larsson laurent
lee lefebvre lehmann leroy lewis lombardi long lopes lopez ludwig maier marino marques martin martinez
martins martinez mayer meijer mendes mendoza mercier meyer miller mitchell molina moore morales moreau
morel moreno moretti morgan morin morris muller mulder murphy myers navarro neumann nguyen nielsen
nilsson novak nunes oliveira olsen olsson ortega ortiz parker patel pedersen pereira perez perrin
perry persson peters petersen peterson petit phillips pinto popov powell price ramirez ramos reed
reis ribeiro ricci richardson rinaldi rivera roberts robinson robert rodrigues rodriguez rojas romano
romero rosa rossi rousseau roux rubio ruiz russo ryan sanchez sanders santos schafer schmid schmidt
schmitt schmitz schneider scholz schroder schubert schulte schultz schulz schuster schwarz scott
serrano shah sharma silva simmons simon singh smirnov smit smith soares sorensen souza stein stewart
suarez sullivan svensson taylor teixeira thomas thompson torres turner vargas vasquez vazquez vidal
vieira vincent visser vogel vos wagner walker wang ward watson weber weiss werner white williams
wilson winkler wolf wood wright wu yang yilmaz young zhang zimmermann
"""


def fold_accents(text: str) -> str:
    """Return `text` in lower case without accents.

    >>> fold_accents("Müller")
    'muller'
    """
    if text.isascii():
        return text.lower()
    split = unicodedata.normalize("NFKD", text)
    return "".join(sign for sign in split if not unicodedata.combining(sign)).lower()


GIVEN_NAMES = frozenset(_GIVEN.split())
FAMILY_NAMES = frozenset(_FAMILY.split())
_NAMES = GIVEN_NAMES | FAMILY_NAMES
_FULL = re.compile(r"[^\W\d_][\w.'’-]*,?(?: [^\W\d_][\w.'’-]*){1,3}")
_SINGLE = re.compile(r"[^\W\d_][^\W\d_'’-]{1,20}")


def looks_like_people(values: Sequence[str]) -> bool:
    """Return whether a sample of distinct values reads like names of people.

    Full names: at least 80 % of the values are two to four words of letters, and in one of eight
    some word is a common name at an end. Single names: one word each, a quarter of them common.
    Places and products reach neither share: of 50 US states two are common given names.
    """
    if len(values) < 5:
        return False
    full = [fold_accents(value) for value in values if _FULL.fullmatch(value)]
    if len(full) >= 0.8 * len(values):
        known = sum(_starts_with_a_name(value) for value in full)
        return known >= len(full) / 8
    single = [fold_accents(value) for value in values if _SINGLE.fullmatch(value)]
    if len(single) >= 0.9 * len(values):
        return sum(value in _NAMES for value in single) >= len(single) / 4
    return False


def _starts_with_a_name(value: str) -> bool:
    """Return whether `Anna Meier` or `Meier, Anna` has its given name where it belongs."""
    words = value.replace(",", " ").split()
    return (words[-1] if "," in value else words[0]) in GIVEN_NAMES
