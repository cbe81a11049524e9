# Shared by the examples: a temporary folder with devices, and functions that run commands and check the results.
#
# Each device is a separate home. `on laptop trip list` prints the command as it would be typed on that machine, runs
# it, and prints its output. An example ends with "All checks passed", or with the check that failed.

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
for program in "${WAYMARK:-}" "$root/.build/release/waymark" "$root/.build/debug/waymark"; do
  if [ -n "$program" ] && [ -x "$program" ]; then break; fi
done
[ -x "$program" ] || { echo "waymark is not built. Run: make release" >&2; exit 2; }

stage=$(mktemp -d "${TMPDIR:-/tmp}/waymark-example.XXXXXX")
began=$SECONDS
chapters=0
declare -A process=()
export SWIFT_BACKTRACE=enable=no WAYMARK_LOG=${WAYMARK_LOG:-info}
unset WAYMARK_HOME WAYMARK_NAME WAYMARK_LISTEN WAYMARK_PEERS WAYMARK_DISCOVERY

if { [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; } || [ -n "${STORY_COLOR:-}" ]; then
  bold=$'\e[1m' dim=$'\e[2m' green=$'\e[32m' red=$'\e[31m' cyan=$'\e[36m' plain=$'\e[0m'
else
  bold='' dim='' green='' red='' cyan='' plain=''
fi

leave() {
  local code=${1:-$?}
  trap - EXIT INT TERM
  for name in "${!process[@]}"; do kill "${process[$name]}" 2>/dev/null || true; done
  wait 2>/dev/null || true
  if [ "$code" -eq 0 ]; then
    rm -rf "$stage"
    printf '\n%sAll checks passed%s in %d s.\n\n' "$bold$green" "$plain" $((SECONDS - began))
  else
    printf '\n   %s✗ the example failed%s; its files are in %s\n' "$red" "$plain" "$stage" >&2
  fi
  exit "$code"
}
trap leave EXIT
trap 'exit 130' INT TERM

title() { printf '\n%s%s%s\n%s%s%s\n' "$bold" "$1" "$plain" "$dim" "$2" "$plain"; }
chapter() { chapters=$((chapters + 1)); printf '\n%s%d  %s%s\n' "$bold" "$chapters" "$1" "$plain"; }
say() { printf '   %s%s%s\n' "$dim" "$1" "$plain"; }
tick() { printf '   %s✓%s %s%s\n' "$green" "$plain" "$1" "${2:+  $dim$2$plain}"; }
failed() { printf '   %s✗ %s%s\n' "$red" "$1" "$plain" >&2; exit 1; }

# Sets `network` to the command prefix that runs a command in a device's network; by default the prefix is empty.
place() { network=(); }

# Runs a command on a device without printing the command.
quiet() {
  local name=$1 network
  shift
  place "$name"
  "${network[@]}" "$program" --home "$stage/$name" "$@"
}

# Prints a command as it would be typed on the device, with short names for tickets and circles.
typed() {
  local name=$1 text='' word
  shift
  for word in "$@"; do
    word=${word//$stage\//}
    case $word in
      waymark1*) word=TICKET ;;
      ????????????????????????????????????????????????????????????????) word=CIRCLE ;;
      *[!A-Za-z0-9_./:=,-]* | '') word="'$word'" ;;
    esac
    text+=" $word"
  done
  printf '   %s%s $%s waymark%s\n' "$cyan" "$name" "$plain" "$text"
}

# Prints the output of a command, folded to 100 columns.
quote() { sed "s|$stage/||g" | fold -s -w 100 | sed "s/^/     ${dim}│${plain} /"; }

on() {
  typed "$@"
  local code=0
  WAYMARK_FORCE_TTY=100 quiet "$@" >"$stage/said" 2>&1 || code=$?
  quote <"$stage/said"
  [ "$code" -eq 0 ] || failed "the command ended with exit code $code"
}

# Prints and runs a command that must end with the given exit code: refused CODE DEVICE WORDS…
refused() {
  local wanted=$1 code=0
  shift
  typed "$@"
  WAYMARK_FORCE_TTY=100 quiet "$@" >"$stage/said" 2>&1 || code=$?
  quote <"$stage/said"
  [ "$code" -eq "$wanted" ] || failed "the command ended with exit code $code instead of $wanted"
}

# Starts the node of a device and waits until it serves: start DEVICE [OPTIONS…]
start() {
  local name=$1 network
  shift
  place "$name"
  : >"$stage/$name.ready"
  "${network[@]}" "$program" --home "$stage/$name" run "$@" >"$stage/$name.ready" 2>>"$stage/$name.log" &
  process[$name]=$!
  local tries=0
  until grep -q '^ready' "$stage/$name.ready"; do
    kill -0 "${process[$name]}" 2>/dev/null || { tail -3 "$stage/$name.log" >&2; failed "the node of $name has ended"; }
    tries=$((tries + 1))
    [ "$tries" -lt 400 ] || failed "the node of $name was not ready after 20 s"
    sleep 0.05
  done
}

stop() { kill "${process[$1]}"; wait "${process[$1]}" || true; unset "process[$1]"; }

# Repeats a command until it succeeds, or fails the example after SECONDS: eventually SECONDS "what" COMMAND…
eventually() {
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@"; do
    [ $SECONDS -lt $end ] || failed "timed out while waiting until $what"
    sleep 0.2
  done
}

# Prints a value from `waymark status --json`: fact DEVICE KEY
fact() { quiet "$1" status --json | sed -n "s/.*\"$2\" *: *\"\{0,1\}\([^\",}]*\).*/\1/p" | head -1; }
has() { [ "$(fact "$1" "$2")" = "$3" ]; }
circle_of() { fact "$1" circle; }
later() { date -u -d "+$1" +%Y-%m-%dT%H:%M:%SZ; }
