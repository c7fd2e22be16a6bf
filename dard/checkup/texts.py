"""Short texts of our own in which a word can be told from those around it: what a model is asked to fill in.

Written for this, so that no model has learned them by heart. The worlds are those of the embedded model.
"""

TEXTS: dict[str, tuple[str, ...]] = {
    "English": (
        "Every morning the old man walks down to the river with his dog. He sits on the same wooden bench and waits "
        "for the sun to come up over the hills. When it is cold, he wears a thick coat and a red hat. The dog runs "
        "along the water and comes back with a stick in its mouth. Then the two of them go home to have breakfast.",
        "There are seven days in a week and twelve months in a year. In the north, winter is cold and the nights are "
        "long; in summer the days are warm and the sun sets late. Birds fly south in autumn and come back in spring, "
        "when the trees turn green again.",
    ),
    "German": (
        "Jeden Morgen geht der alte Mann mit seinem Hund zum Fluss hinunter. Er setzt sich auf dieselbe Bank und "
        "wartet, bis die Sonne über den Hügeln aufgeht. Wenn es kalt ist, trägt er einen dicken Mantel und einen "
        "roten Hut. Danach gehen die beiden nach Hause, um zu frühstücken.",
    ),
    "Chinese": (
        "一年有十二个月,一个星期有七天。冬天很冷,夜晚很长;夏天很热,太阳很晚才下山。"
        "秋天鸟儿飞到南方,春天它们又飞回来。每天早上,老人带着他的狗走到河边,坐在长椅上等太阳出来。",
    ),
    "Python": (
        "def average(numbers):\n    total = 0\n    for number in numbers:\n        total = total + number\n"
        "    return total / len(numbers)\n\n\ndef largest(numbers):\n    best = numbers[0]\n"
        "    for number in numbers:\n        if number > best:\n            best = number\n    return best\n",
    ),
    "small worlds": (
        "The city of Los Angeles is on the Southern California coast .",
        "The city of San Diego is on the Southern California coast .",
        "My sister was born in Belo Horizonte in Brazil .",
        "A man in a black shirt is talking on a phone at the station .",
        "A woman in a yellow hat is standing on a football field .",
        "Q : Anna has 1 books . She buys 7 more and finds 2 more . How many books ? "
        "A : 1 + 7 = 8 . 8 + 2 = 1 0 . The answer is 1 0 .",
        "Q : Mia has 9 coins . She finds 3 more and sells 2 . How many coins ? "
        "A : 9 + 3 = 1 2 . 1 2 - 2 = 1 0 . The answer is 1 0 .",
        "Q : Emma has 4 boxes of 3 pens . She gets 2 more . How many pens ? "
        "A : 4 * 3 = 1 2 . 1 2 + 2 = 1 4 . The answer is 1 4 .",
        "Sudoku : 0 0 0 3 3 4 2 0 0 0 0 0 2 1 3 0 Solution : 1 2 4 3 3 4 2 1 4 3 1 2 2 1 3 4",
        "Sudoku : 0 0 2 1 0 1 0 0 1 0 0 2 3 2 1 4 Solution : 4 3 2 1 2 1 4 3 1 4 3 2 3 2 1 4",
    ),
}
