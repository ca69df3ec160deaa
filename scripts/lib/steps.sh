# Functions for scripts that run a list of checks: they print each check, and its time.
#
#   source scripts/lib/steps.sh
#   step NAME COMMAND...        ends the script if the command fails
#   try_step NAME COMMAND...    goes on, and counts the failure
#   finish_steps                prints the times; ends with 1 if a step failed

step_times=()
failed_steps=()

try_step() {
  local name=$1 began=$SECONDS result=ok
  shift
  echo "== $name: $*"
  if ! "$@"; then
    result=FAILED
    failed_steps+=("$name")
    echo "== $name failed after $((SECONDS - began)) s: $*" >&2
  else
    echo "== $name took $((SECONDS - began)) s"
  fi
  step_times+=("$(printf '%5d s  %-6s  %s' "$((SECONDS - began))" "$result" "$name")")
  [ "$result" = ok ]
}

step() {
  try_step "$@" || exit 1
}

finish_steps() {
  printf '\n== %d steps in %d s, %d failed\n' "${#step_times[@]}" "$SECONDS" "${#failed_steps[@]}"
  printf '%s\n' "${step_times[@]}"
  [ "${#failed_steps[@]}" = 0 ]
}
