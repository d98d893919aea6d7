#!/usr/bin/env bash
# Races `lately dedup` against awk and exact deduplicators in Rust on a generated log, after checking that the outputs agree.
#   benchmarks/cli.sh [LINES] > record.json     20 million lines (1 GB) by default; needs about 3 GB of disk and of memory
# Then it races each kind of key against its nearest peer (awk, xsv or qsv, jq) on a tenth of the lines, after comparing the
# keys that pass. A peer that is not installed is left out.
# RUNNER: a command that runs each round, for example `taskset -c 0,1`; none by default. ROUNDS: 3 by default.
# Progress goes to standard error, the record to standard output. Everything else is temporary: peers are installed into
# a temporary root, and the log is removed.
set -euo pipefail
cd "$(dirname "$0")/.."
lines=${1:-20000000}
window=1000000
rounds=${ROUNDS:-3}
work=$(mktemp -d)
export PATH=$PATH:$work/bin
trap 'rm -rf "$work"' EXIT
say() { printf '%s\n' "$*" >&2; }

cargo build -q --release -p lately-cli -p lately-lab >&2
lately=$PWD/target/release/lately
lab=$PWD/target/release/lately-lab
# Exact deduplicators in Rust, each with the command that deduplicates the file `log`. (`dedup` no longer compiles.)
declare -A deduplicate=([huniq]="huniq < log" [runiq]="runiq < log" [uq]="uq < log" [xuniq]="xuniq < log" [zet]="zet union log")
peers=()
for peer in huniq runiq uq xuniq zet; do
  if command -v "$peer" >/dev/null || cargo install -q --root "$work" "$peer" >&2; then
    peers+=("$peer")
  else
    say "$peer could not be installed; it is left out"
  fi
done

cd "$work"
"$lab" log "$lines" > log
say "$(wc -l < log) lines, $(wc -c < log) bytes"

# Checks before timing: exact peers must agree with awk, and lately with an exact window, line by line. Its plain output,
# from a file and from standard input, must agree with its tagged output.
awk '!seen[$0]++' log > exact
for peer in "${peers[@]}"; do
  bash -c "${deduplicate[$peer]}" | cmp - exact || { say "$peer does not agree with awk"; exit 1; }
done
"$lately" dedup --window $window --emit tagged --stats-json stats.json log > tagged
verdict=$("$lab" judge tagged $window)
say "against an exact window: $verdict"
"$lately" dedup --window $window log | cmp - <(sed -n 's/^new\t//p' tagged)
"$lately" dedup --window $window < log | cmp - <(sed -n 's/^new\t//p' tagged)
rm tagged exact

# Each contender runs once per round, so that a noisy moment hits all of them; the best round counts.
cat > round <<ROUND
measure() { /usr/bin/time -a -o times -f "\$1|%e|%U|%S|%M" bash -c "\$2 > /dev/null"; }
measure "wc -l" "wc -l log"
measure "cat" "cat log"
measure "lately dedup" "$lately dedup --window $window log"
measure "lately dedup, from a pipe" "cat log | $lately dedup --window $window"
measure "lately dedup, rows" "$lately dedup --window $window --layout rows log"
measure "awk" "awk '!seen[\\\$0]++' log"
$(for peer in "${peers[@]}"; do echo "measure $peer '${deduplicate[$peer]}'"; done)
ROUND
for _ in $(seq $rounds); do ${RUNNER:-} bash round; done

# Keys: the same events as words, CSV and JSON.
key_lines=$((lines / 10 + 10))
python3 - "$key_lines" <<'PYTHON'
import json, random, sys
random.seed(1)
count = int(sys.argv[1])
with open("keys.txt", "w") as words, open("keys.csv", "w") as table, open("keys.jsonl", "w") as objects:
    table.write("id,at,user,path,status,bytes,agent\n")
    for number in range(count):
        key = random.randrange(count // 2 + 1)
        at, user, path, size = 1700000000 + number // 1000, f"user-{key % 5000}", f"/api/v1/orders/{key}", key % 9999
        words.write(f"evt_{key:08} {at} {user} {path} 200 {size} Mozilla/5.0\n")
        table.write(f'evt_{key:08},{at},{user},{path},200,{size},"Mozilla/5.0 (X11; Linux)"\n')
        event = {"at": at, "event": {"id": f"evt_{key:08}", "type": "invoice.paid"}, "user": user, "path": path, "status": 200, "bytes": size}
        objects.write(json.dumps(event, separators=(",", ":")) + "\n")
PYTHON
select=$(command -v xsv || command -v qsv || true)
keyed="$lately dedup --window $key_lines --fp 1e-9"
timed="$lately dedup --within 1w --capacity $key_lines --fp 1e-9"
declare -A key_modes=(
  ["lately, lines"]="$keyed keys.txt" ["awk, lines"]="awk '!seen[\$0]++' keys.txt"
  ["lately, field"]="$keyed --field 4 keys.txt" ["awk, field"]="awk '!seen[\$4]++' keys.txt"
  ["lately, csv"]="$keyed --csv --column path keys.csv"
  ["lately, json"]="$keyed --json event.id keys.jsonl"
  ["lately, field and time"]="$timed --field 4 --time-field 2 keys.txt"
  ["lately, json and time"]="$timed --json event.id --time-field at keys.jsonl"
)
[ -z "$select" ] || key_modes["${select##*/} and awk, csv"]="$select select path keys.csv | awk '!seen[\$0]++'"
[ -z "$(command -v jq)" ] || key_modes["jq and awk, json"]="jq -r .event.id keys.jsonl | awk '!seen[\$0]++'"
same() { # what passes is the same: a name, and two commands that print the keys
  cmp <(bash -c "$2") <(bash -c "$3") >&2 || { say "$1: the keys differ"; exit 1; }
}
same field "${key_modes["lately, field"]}" "${key_modes["awk, field"]}"
same lines "${key_modes["lately, lines"]}" "${key_modes["awk, lines"]}"
same "field and time" "${key_modes["lately, field and time"]}" "${key_modes["awk, field"]}"
same csv "${key_modes["lately, csv"]} | tail -n +2 | cut -d, -f4" "tail -n +2 keys.csv | cut -d, -f4 | awk '!seen[\$0]++'"
same json "${key_modes["lately, json"]} | sed 's/.*\"id\":\"//; s/\".*//'" "sed 's/.*\"id\":\"//; s/\".*//' keys.jsonl | awk '!seen[\$0]++'"
for _ in $(seq $rounds); do
  for mode in "${!key_modes[@]}"; do
    ${RUNNER:-} /usr/bin/time -a -o key_times -f "$mode|%e|%U|%S|%M" bash -c "${key_modes[$mode]} > /dev/null"
  done
done

memory=$(sed -n 's/.*"memory_bytes": \([0-9]*\).*/\1/p' stats.json)
python3 - "$lines" "$(wc -c < log)" "$window" "$verdict" "$memory" "$rounds" "$key_lines" <<'PYTHON'
import json, os, platform, sys
lines, size, window, verdict, memory, rounds, key_lines = sys.argv[1:]
def best(times):
    figures = {}
    for name, seconds, user, system, kilobytes in (line.strip().split("|") for line in open(times)):
        # A busy machine stretches the seconds, so the processor time is recorded too.
        processor_seconds = round(float(user) + float(system), 2)
        figure = {"seconds": float(seconds), "processor_seconds": processor_seconds, "peak_kilobytes": int(kilobytes)}
        figures[name] = min(figure, figures.get(name, figure), key=lambda figure: figure["seconds"])
    return figures
figures, keys = best("times"), best("key_times")
ours = figures["lately dedup"]["seconds"]
floor = max(0.01, figures["wc -l"]["seconds"] + figures["cat"]["seconds"])  # times have two decimals
record = {
    "log": {"lines": int(lines), "bytes": int(size)}, "window": int(window), "cores": os.cpu_count(), "rounds": int(rounds),
    "agreement": json.loads(verdict), "plan_bytes": int(memory), "figures": figures,
    "times_as_fast_as": {n: round(f["seconds"] / ours, 2) for n, f in figures.items() if not n.startswith("lately")},
    "keys": {"records": int(key_lines), "figures": keys},
    "over_wc_and_cat": round(ours / floor, 2),
    "peak_bytes_beyond_plan": figures["lately dedup"]["peak_kilobytes"] * 1024 - int(memory),
}
print(json.dumps(record, indent=2, sort_keys=True))
PYTHON
