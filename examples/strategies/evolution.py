"""A search strategy outside of isamap: the best of a few mutants of the best, with the standard library only.

isamap schedule examples/gemm.yaml --target x86_avx512 --strategy 'external:command=python3 examples/strategies/evolution.py'
"""
import json
import random
import sys

space = json.loads(sys.stdin.readline())
sizes = [len(decision["labels"]) for decision in space["decisions"]]
draw = random.Random(space["seed"])
waiting = list(space["starts"])
best, best_cost = None, float("inf")


def mutant(point):
    point = list(point)
    for _ in range(draw.randint(1, 3)):
        d = draw.randrange(len(point))
        near = space["decisions"][d]["ordered"] and draw.random() < 0.8
        point[d] = point[d] + draw.choice((-1, 1)) if near else draw.randrange(sizes[d])
    return point


for line in sys.stdin:
    message = json.loads(line)
    if "ask" in message:
        point = waiting.pop(0) if waiting else mutant(best or [draw.randrange(n) for n in sizes])
        print(json.dumps({"point": point}), flush=True)
    elif message["tell"]["cost"] is not None and message["tell"]["cost"] < best_cost:
        best, best_cost = message["tell"]["point"], message["tell"]["cost"]
