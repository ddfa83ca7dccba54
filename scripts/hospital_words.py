"""Names, places, jobs and diagnoses from which `make_hospital.py` invents its people.

First names and family names are common words of several languages; any likeness of a combination
to a living person is chance. Places and streets do not exist.
"""

# ruff: noqa: RUF001 -- the letters that look like others are the point
from __future__ import annotations

from dataclasses import dataclass

DOMAINS = ("example.org", "example.com", "example.net")  # reserved for examples (RFC 2606)

# Number blocks that the British regulator keeps free for drama, so that nobody can be called.
PHONE_BLOCKS = ("+441134960", "+441144960", "+441154960", "+441164960", "+441174960", "+441184960")


@dataclass(frozen=True)
class Culture:
    """Names that go together; `family_first` says in which order they are written."""

    weight: int
    women: tuple[str, ...]
    men: tuple[str, ...]
    families: tuple[str, ...]
    family_first: bool = False


def _words(text: str) -> tuple[str, ...]:
    """Split at blanks; an underscore is a blank inside a name."""
    return tuple(word.replace("_", " ") for word in text.split())


def _culture(
    weight: int, women: str, men: str, families: str, *, family_first: bool = False
) -> Culture:
    return Culture(weight, _words(women), _words(men), _words(families), family_first)


CULTURES = (
    _culture(
        52,
        "Alice Amelia Beatrice Caroline Charlotte Clara Daisy Edith Eleanor Emily Emma Esther "
        "Florence Frances Grace Hannah Harriet Helen Isabel Ivy Jane Joan Judith Laura Lily Lucy "
        "Margaret Martha Mary Matilda Nora Olive Pamela Phoebe Rachel Rose Ruth Sarah Susan Violet",
        "Adam Albert Alfred Andrew Arthur Benjamin Charles Daniel David Edward Eric Francis "
        "Frederick George Gordon Harold Harry Henry Hugh Jack James John Joseph Kenneth Leonard "
        "Louis Martin Matthew Nathan Oliver Oscar Patrick Peter Philip Ralph Robert Samuel Simon "
        "Thomas Walter",
        "Abbott Archer Ashdown Barlow Barrow Bennett Birch Blackwell Bowman Brook Carter Chandler "
        "Clarke Cooper Crowther Dalton Dawson Draper Ellis Fairfax Fletcher Foster Garland Gibson "
        "Hale Harding Hartley Hawkins Holloway Hughes Ingram Jarvis Kellaway Lambert Langley Lowe "
        "Marlowe Mason Merrick Nash Norris Oakley Osborne Parsons Pike Porter Prescott Ramsey "
        "Reeve Rowland Sawyer Shelby Sinclair Sutton Tanner Thorne Turner Underhill Vance Wainwright "
        "Walker Weaver Whitlock Wyatt",
    ),
    _culture(
        8,
        "Aoife Bríd Caoimhe Gráinne Niamh Orla Róisín Sinéad Siobhán Úna",
        "Cathal Cian Diarmuid Eoin Fionn Oisín Pádraig Ruairí Seán Tadhg",
        "O'Brien O'Connor O'Dowd O'Leary O'Neill O'Shea Ó_Súilleabháin MacCarthy Byrne Nolan",
    ),
    _culture(
        9,
        "Agnieszka Anna Danuta Elżbieta Grażyna Katarzyna Małgorzata Wanda Zofia Żaneta",
        "Andrzej Grzegorz Jacek Kazimierz Łukasz Michał Paweł Stanisław Wojciech Zbigniew",
        "Dąbek Gołąb Jabłoń Kaźmierczak Kozieł Łęcki Mączka Rębacz Śliwa Wróbel Zając Żuraw",
    ),
    _culture(
        9,
        "Ángela Begoña Carmen Concepción Inés Lucía Mónica Pilar Rocío Sofía",
        "Álvaro Andrés Germán Íñigo Jesús Joaquín José Martín Raúl Sebastián",
        "Álvarez Benítez Cañizares Domínguez Ibáñez Jiménez Muñoz Núñez Ordóñez Peña Quiñones Zúñiga",
    ),
    _culture(
        8,
        "Ayşe Çağla Elif Fatma Gülşen Hülya İpek Özlem Şule Zeynep",
        "Ahmet Barış Çetin Emre Gökhan İbrahim Kağan Mehmet Özgür Şükrü",
        "Aydın Çelik Demir Güneş Işık Kaya Öztürk Şahin Toprak Yıldız",
    ),
    _culture(
        5,
        "Bích Châu Diễm Hương Lệ Ngọc Phượng Thảo Tuyết Yến",
        "Bảo Cường Dũng Đức Hiếu Khánh Minh Phúc Sơn Tuấn",
        "Bùi Đặng Đỗ Hoàng Lê Ngô Nguyễn Phạm Trần Võ",
        family_first=True,
    ),
    _culture(
        3,
        "Αγγελική Βασιλική Ελένη Ιωάννα Καλλιόπη Μαρία Σοφία Χρυσούλα",
        "Ανδρέας Γιώργος Δημήτρης Θανάσης Κώστας Νίκος Παναγιώτης Σπύρος",
        "Αλεξίου Δούκας Καραγιάννης Μακρής Παππάς Σταύρου",
    ),
    _culture(
        3,
        "أمينة خديجة زينب سلمى فاطمة ليلى مريم نور",
        "أحمد حسن خالد سامي عمر كريم محمود يوسف",
        "الحداد الخياط العطار النجار بركات منصور",
    ),
    _culture(
        3,
        "愛 花子 恵子 桜 真由美 美咲 裕子 陽子",
        "健一 修 大輔 拓也 浩 直樹 翔太 誠",
        "中村 佐藤 小林 山本 木村 田中",
        family_first=True,
    ),
)

STREETS = _words(
    "Abbey_Road Bridge_Street Chapel_Lane Church_Street Dock_Road Elm_Grove Ferry_Lane Garden_Row "
    "High_Street Mill_Lane Orchard_Close Park_Avenue Quarry_Hill Rope_Walk School_Lane "
    "Station_Road Tanner's_Yard Weir_Street Well_Lane West_Street"
)

# (first postcode, number of postcodes, weight of each): one city, two towns, thirty villages; the
# city's first postcode is its center and five times as heavy.
CITY, TOWNS, VILLAGES = (1001, 8, 60), ((9110, 3, 36), (10250, 4, 30)), (12400, 30, 7)
MINING_VILLAGE = "12407"  # its old miners share one illness
SURGEON_VILLAGE = "12419"  # one surgeon lives here


@dataclass(frozen=True)
class Job:
    """A job, its yearly salary, how common it is, and how many of a hundred are women."""

    title: str
    salary: int
    weight: int
    women: int


# title:salary:weight:women
_JOBS = """
accountant:58000:5:50,baker:31000:3:40,builder:36000:8:5,bus driver:34000:5:20
carer:27000:8:85,cleaner:24000:7:75,clerk:35000:11:65,cook:29000:6:50
electrician:42000:5:5,engineer:66000:7:25,farmer:33000:6:30,fisher:30000:2:10
judge:118000:1:50,lawyer:92000:3:50,librarian:38000:2:75,mechanic:37000:5:5
musician:28000:2:50,nurse:43000:8:85,pharmacist:64000:2:60,police officer:46000:3:30
programmer:71000:6:25,shop assistant:26000:12:65,surgeon:131000:1:40,teacher:47000:9:70
unemployed:11000:7:50,veterinarian:69000:1:60,warehouse worker:30000:8:30
"""


def _job(entry: str) -> Job:
    title, salary, weight, women = entry.split(":")
    return Job(title, int(salary), int(weight), int(women))


JOBS = tuple(_job(entry) for line in _JOBS.split("\n") if line for entry in line.split(","))


@dataclass(frozen=True)
class Illness:
    """A diagnosis with its place in the hierarchy and how often the young, grown and old have it."""

    code: str
    title: str
    block: str
    chapter: str
    ward: str
    weights: tuple[int, int, int]
    sex: str
    cost: int


# chapter | ward; then block; then code:title:weight below 18:18-64:65 and older:sex:cost of a visit
_ILLNESSES = """
Infections|internal medicine
 Intestinal infections|A08:viral gut infection:9:4:3::900,A09:gastroenteritis:8:4:3::850
 Viral hepatitis and HIV|B18:chronic hepatitis:0:3:2::2400,B24:HIV disease:0:3:1::3100
Cancers|oncology
 Digestive cancers|C18:colon cancer:0:2:7::9800,C25:pancreatic cancer:0:1:3::11200
 Breast and genital cancers|C50:breast cancer:0:6:7:F:8700,C61:prostate cancer:0:2:9:M:7600
Metabolism|internal medicine
 Diabetes|E10:diabetes type 1:4:3:1::1900,E11:diabetes type 2:0:8:16::1700
 Obesity|E66:obesity:3:6:3::1500
Mental health|psychiatry
 Mood disorders|F32:depressive episode:2:11:4::2600,F31:bipolar disorder:0:3:1::3300
 Substance use|F10:alcohol dependence:0:6:3::2900,F11:opioid dependence:0:2:0::3400
Heart and vessels|cardiology
 Heart attacks and angina|I20:angina:0:4:10::4200,I21:heart attack:0:3:9::8900
 Other heart diseases|I48:atrial fibrillation:0:3:11::3100,I50:heart failure:0:1:12::5200
Lungs|pulmonology
 Airway diseases|J45:asthma:14:6:2::1100,J44:chronic bronchitis:0:4:10::2300
 Pneumonia|J18:pneumonia:6:3:7::3600
 Dust diseases of the lung|J60:miner's lung:0:0:1:M:4100
Digestion|surgery
 Appendix and hernia|K35:appendicitis:11:5:1::4700,K40:inguinal hernia:3:5:5::3200
 Gallbladder|K80:gallstones:0:6:5::3900
Pregnancy and birth|maternity
 Pregnancy|O21:severe nausea of pregnancy:0:5:0:F:900,O14:pre-eclampsia:0:3:0:F:4300
 Delivery|O80:delivery:0:16:0:F:3500
Injuries|surgery
 Fractures|S52:fracture of the forearm:16:5:4::2700,S72:fracture of the hip:0:1:9::9100
 Head injuries|S06:concussion:12:4:3::2100
"""


def _illnesses() -> tuple[Illness, ...]:
    chapter, ward, found = "", "", list[Illness]()
    for line in _ILLNESSES.strip().splitlines():
        left, right = line.strip().split("|")
        if not line.startswith(" "):
            chapter, ward = left, right
            continue
        for entry in right.split(","):
            code, title, young, grown, old, sex, cost = entry.split(":")
            weights = (int(young), int(grown), int(old))
            found.append(Illness(code, title, left, chapter, ward, weights, sex, int(cost)))
    return tuple(found)


ILLNESSES = _illnesses()
