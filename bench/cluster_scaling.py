#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulates the jobs of a plan on 1 to 4096 workers and draws docs/cluster_scaling.svg.

    isamap store export STORE > records.jsonl            # measured job times
    bench/cluster_scaling.py --times lab=records.jsonl   # keeps them in bench/data/cluster_jobs.json
    bench/cluster_scaling.py                             # tables on stdout, the picture in docs/

What is measured: seconds of each job, seconds that rank 0 spends on handing out one job, seconds of a restart. What is
assumed: job times are drawn from the measured ones, workers are equally fast, deaths are independent.
"""
import argparse
import heapq
import json
import math
import os
import random

here = os.path.dirname(os.path.abspath(__file__))
data_file = os.path.join(here, "data", "cluster_jobs.json")
workers_drawn = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]


def read_times(path):
    with open(path, encoding="utf-8") as file:
        return sorted(record["seconds"] for record in map(json.loads, file) if record["end"] == "ok")


def thinned(times, most=200):
    """Quantiles: enough to draw from, small enough to keep."""
    if len(times) <= most:
        return [float(f"{t:.6g}") for t in times]
    return [float(f"{times[int((q + 0.5) * len(times) / most)]:.6g}") for q in range(most)]


def with_manager(times, workers, hand_out, jobs_each, seed=0):
    """Seconds until all jobs are done, and the seconds of all jobs. One manager serves requests in their order; a
    worker asks again when it starts its job, so it waits only for a manager that is behind (as cli/mpi does)."""
    rng = random.Random(seed)
    jobs = jobs_each * workers
    free_at, sum_of_jobs, end = 0.0, 0.0, 0.0
    # (when the worker asks for an order, when it has finished what it has)
    asking = [(0.0, 0.0, w) for w in range(workers)]
    heapq.heapify(asking)
    for _ in range(jobs):
        asked, ready, worker = heapq.heappop(asking)
        free_at = max(free_at, asked) + hand_out
        start = max(free_at, ready)
        seconds = rng.choice(times)
        sum_of_jobs += seconds
        end = max(end, start + seconds)
        heapq.heappush(asking, (start, start + seconds, worker))
    return end, sum_of_jobs


def saturation(times, hand_out):
    return sum(times) / len(times) / hand_out


def lost_share(times, workers, mtbf, restart, all_die):
    """Share of the processors' time that deaths cost: what was in flight, and restarts. All workers lose their job when
    the launcher ends all of them (MPI); only one does in a job array, whose place is filled by the next task."""
    mean = sum(times) / len(times)
    in_flight = sum(t * t for t in times) / (2 * mean * len(times))  # a death falls into long jobs more often
    rate = workers / mtbf
    each = (in_flight + restart) * (workers if all_die else 1)
    return rate * each / (workers + rate * each)


def line(points, x, y, colour, dashed=False):
    path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in points)
    dash = ' stroke-dasharray="5 3"' if dashed else ""
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"{dash}/>\n'


def frame(left, title, x, y, x_ticks, y_ticks, label):
    text = f'<text x="{left + 175}" y="14" text-anchor="middle" font-weight="bold">{title}</text>\n'
    for at in x_ticks:
        text += f'<line x1="{x(at):.1f}" y1="24" x2="{x(at):.1f}" y2="250" stroke="#e4e8ee"/>'
        text += f'<text x="{x(at):.1f}" y="264" text-anchor="middle">{at}</text>\n'
    for at, name in y_ticks:
        text += f'<line x1="{left}" y1="{y(at):.1f}" x2="{left + 350}" y2="{y(at):.1f}" stroke="#e4e8ee"/>'
        text += f'<text x="{left - 4}" y="{y(at) + 4:.1f}" text-anchor="end">{name}</text>\n'
    return text + f'<text x="{left + 175}" y="282" text-anchor="middle">{label}</text>\n'


def picture(efficiency, deaths):
    colours = ["#4878a8", "#d08770", "#6a9f58", "#a978b0", "#c2a33a"]
    ticks = [1, 4, 16, 64, 256, 1024, 4096]
    svg = ('<svg xmlns="http://www.w3.org/2000/svg" width="860" height="360" viewBox="0 0 860 360" '
           'font-family="sans-serif" font-size="11">\n<rect width="860" height="360" fill="white"/>\n')
    left = 50
    x = lambda w: left + 350 * math.log(w) / math.log(4096)
    y = lambda e: 250 - 226 * e
    quarters = [(e / 4, f"{25 * e} %") for e in range(5)]
    svg += frame(left, "Share of the workers' time in jobs", x, y, ticks, quarters, "workers")
    for c, (name, points) in enumerate(efficiency.items()):
        svg += line(points, x, y, colours[c])
        svg += f'<rect x="{left}" y="{294 + 14 * c}" width="12" height="3" fill="{colours[c]}"/>'
        svg += f'<text x="{left + 16}" y="{299 + 14 * c}">{name}</text>\n'
    left = 490
    x2 = lambda w: left + 350 * math.log(w) / math.log(4096)
    y2 = lambda s: 250 - 226 * (math.log10(max(s, 1e-7)) + 7) / 7
    svg += frame(left, "Share of time that deaths cost", x2, y2, ticks,
                 [(10.0 ** -e, f"{100 * 10.0 ** -e:g} %") for e in range(0, 8)], "workers")
    for c, (name, mpi, array) in enumerate(deaths):
        svg += line(mpi, x2, y2, colours[c]) + line(array, x2, y2, colours[c], True)
        svg += f'<rect x="{left}" y="{294 + 14 * c}" width="12" height="3" fill="{colours[c]}"/>'
        svg += f'<text x="{left + 16}" y="{299 + 14 * c}">{name}: MPI (whole line), job array (dashed)</text>\n'
    return svg + "</svg>\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", action="append", default=[], help="NAME=FILE of records: kept in bench/data")
    parser.add_argument("--cpu", action="append", default=[],
                        help="NAME=SECONDS of processor time of all jobs: scales times of a shared machine")
    parser.add_argument("--hand-out", type=float, help="seconds of rank 0 for each job: kept too")
    parser.add_argument("--restart", type=float, default=10, help="seconds until a launcher has started again")
    parser.add_argument("--mtbf-years", type=float, default=5, help="mean time between failures of one worker's node")
    parser.add_argument("-o", default=os.path.join(here, "..", "docs", "cluster_scaling.svg"))
    options = parser.parse_args()
    data = {"hand_out": 25e-6, "times": {}}
    if os.path.exists(data_file):
        with open(data_file, encoding="utf-8") as file:
            data = json.load(file)
    for one in options.times:
        name, path = one.split("=", 1)
        times = read_times(path)
        cpu = dict(pair.split("=") for pair in options.cpu).get(name)
        scale = float(cpu) / sum(times) if cpu else 1
        data["times"][name] = thinned([scale * t for t in times])
    if options.hand_out:
        data["hand_out"] = options.hand_out
    if options.times or options.hand_out:
        with open(data_file, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=1)
            file.write("\n")
    hand_out = data["hand_out"]
    efficiency, deaths = {}, []
    print(f"handing out: {hand_out * 1e6:.1f} us a job\n")
    print("| jobs | mean | manager saturates at | " + " | ".join(f"{w} workers" for w in (64, 512, 4096)) + " |")
    print("|---|---|---|---|---|---|")
    mtbf = options.mtbf_years * 365.25 * 86400
    for name, times in sorted(data["times"].items(), key=lambda item: sum(item[1]) / len(item[1])):
        points = []
        for workers in workers_drawn:
            end, busy = with_manager(times, workers, hand_out, 50)
            points.append((workers, busy / (workers * end)))
        mean = sum(times) / len(times)
        label = f"{name}, mean {1e3 * mean:.3g} ms"
        efficiency[label] = points
        share = dict(points)
        print(f"| {name} | {1e3 * mean:.3g} ms | {saturation(times, hand_out):.0f} workers | " +
              " | ".join(f"{100 * share[w]:.0f} %" for w in (64, 512, 4096)) + " |")
        deaths.append((name, [(w, lost_share(times, w, mtbf, options.restart, True)) for w in workers_drawn],
                       [(w, lost_share(times, w, mtbf, options.restart, False)) for w in workers_drawn]))
    print()
    for name, mpi, array in deaths:
        print(f"{name}: at 4096 workers deaths cost {100 * dict(mpi)[4096]:.3g} % with MPI, "
              f"{100 * dict(array)[4096]:.3g} % in a job array")
    with open(options.o, "w", encoding="utf-8") as file:
        file.write(picture(efficiency, deaths))


if __name__ == "__main__":
    main()
