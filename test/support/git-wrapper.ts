/** A `git` that stands before the real one in PATH and hits the worker that asked for it, for the points `git`, `git-after` and `git-cut` of fault-points.js. */
import { execFileSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A `git` in `dir` that hits the worker while CRASH_MARK-armed is there. `-after` and `-cut` as above. */
export const gitWrapper = (dir: string): string => {
  const real = execFileSync('/bin/sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  writeFileSync(
    join(dir, 'git'),
    `#!/bin/sh
# Started by the launcher, whose parent is the worker. Children get an allow-list of the environment: what to do is read from the worker's.
WORKER=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$PPID/status")
of() { tr '\\0' '\\n' <"/proc/$WORKER/environ" | sed -n "s/^$1=//p"; }
CRASH=$(of CRASH) CRASH_MARK=$(of CRASH_MARK) CRASH_SIGNAL=$(of CRASH_SIGNAL)
word="\${CRASH##*:}"
hit() { echo "$WORKER" > "$CRASH_MARK"; kill -s "\${CRASH_SIGNAL#SIG}" "$WORKER"; }
found=
for arg; do [ "$arg" = "$word" ] && found=yes; done
if [ -z "$found" ] || [ -e "$CRASH_MARK" ] || [ ! -e "$CRASH_MARK-armed" ]; then exec '${real}' "$@"; fi
case "$CRASH" in
  *:git:*) hit; exec '${real}' "$@" ;;
  *:git-cut:*) hit; exit 1 ;;
  *:git-after:*) '${real}' "$@"; code=$?; hit; exit $code ;;
esac
exec '${real}' "$@"
`,
  );
  chmodSync(join(dir, 'git'), 0o755);
  return dir;
};
