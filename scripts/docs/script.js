/**
 * The shell commands of a document, as one bash script. What the words behind ```bash mean:
 *
 *   install                   left out: the caller installs
 *   background until="TEXT"   runs beside the rest, which goes on when it has printed TEXT, and is ended with the script
 *
 * In the commands RUN stands for the newest run and ID for its open decision, `exit code N` in a comment for the code that a command ends with where nobody is at the
 * terminal; a line with … is for a person to fill in, and left out.
 */
const FENCE = /^```bash([^\n]*)\n([^]*?)^```$/gm;

/** In order, `{ words, text, line }`; `line` is that of the first command. */
export const shellFences = (markdown) =>
  [...markdown.matchAll(FENCE)].map(({ 1: words, 2: text, index }) => ({
    words: words.trim(),
    text,
    line: markdown.slice(0, index).split('\n').length + 1,
  }));

const HEAD = `set -euo pipefail
fail() { echo "line $1: $2" >&2; exit 1; }
last_run() {
  emend list --json | node -e '
    let text = "";
    process.stdin.on("data", (more) => (text += more)).on("end", () => {
      const { runs, archived = [] } = JSON.parse(text);
      process.stdout.write([...runs, ...archived][0].stepKey.slice(0, 8));
    });'
}
open_decision() {
  emend show "$(last_run)" --json | node -e '
    let text = "";
    process.stdin.on("data", (more) => (text += more)).on("end", () => process.stdout.write(JSON.parse(text).status.decision.id));'
}
told() { # LINE TEXT COMMAND...: in the background until the end of all; goes on when it has printed TEXT
  local line=$1 wanted=$2; shift 2
  log=$(mktemp)
  "$@" >"$log" 2>&1 &
  beside=$!
  trap 'kill -TERM "$beside" 2>/dev/null; wait "$beside" || true; rm -f "$log"' EXIT
  for ((tries = 0; tries < 600; tries++)); do
    grep -q -- "$wanted" "$log" && { cat "$log"; return; }
    kill -0 "$beside" 2>/dev/null || break
    sleep 0.1
  done
  cat "$log" >&2
  fail "$line" "did not print: $wanted"
}
`;

/** The exit code that a comment names. */
export const expectedExit = (command) => Number(/#.*\bexit code (\d+)/.exec(command)?.[1] ?? 0);
const quoted = (text) => `'${text.replaceAll("'", String.raw`'\''`)}'`;
const withRun = (command) =>
  command
    .replaceAll(/\bRUN\b(?=[^#]*(?:#|$))/g, '"$(last_run)"')
    .replaceAll(/\bID\b(?=[^#]*(?:#|$))/g, '"$(open_decision)"');

/** A line is a command; a line after `\`, and a here-document up to its end, belong to the one before. */
export const commandsOf = (text) => {
  const commands = [];
  let end = null;
  for (const line of text.trimEnd().split('\n')) {
    const goesOn = end !== null || commands.at(-1)?.endsWith('\\') === true;
    if (goesOn) commands.push(`${commands.pop()}\n${line}`);
    else commands.push(line);
    if (end === null) end = /<<'?(\w+)'?/.exec(line)?.[1] ?? null;
    else if (line === end) end = null;
  }
  return commands;
};

const shown = (command) => `echo ${quoted(`$ ${command.split('\n')[0]}`)}`;
const run = (command, line) => {
  const code = expectedExit(command);
  const text = withRun(command);
  if (code === 0) return `${shown(command)}\n${text}`;
  return `${shown(command)}\nset +e\n${text}\ncode=$?\nset -e\n[ "$code" = ${code} ] || fail ${line} "exit code $code instead of ${code}"`;
};

/** @param {string} markdown */
export const scriptOf = (markdown) => {
  const parts = shellFences(markdown)
    .filter(({ words }) => words !== 'install')
    .flatMap(({ words, text, line }) => {
      const until = /^background until="([^"]+)"$/.exec(words)?.[1];
      if (until === undefined && words !== '') throw new Error(`line ${line}: unknown: ${words}`);
      const commands = commandsOf(text).filter((command) => !command.includes('…'));
      return commands.map((command) =>
        until === undefined
          ? run(command, line)
          : `${shown(command)}\ntold ${line} ${quoted(until)} ${command}`,
      );
    });
  return `${HEAD}\n${parts.join('\n')}\n`;
};
