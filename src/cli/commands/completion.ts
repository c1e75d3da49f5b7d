/** `emend completion SHELL`: a script that completes commands, flags and files, made from the same table as the help. */
import type { Command } from 'commander';
import { EXIT, type ExitCode } from '../../shared/problems.js';
import type { Io } from '../io.js';

export type Shell = 'bash' | 'zsh' | 'fish';

interface Completed {
  readonly name: string;
  readonly description: string;
  readonly flags: readonly string[];
  /** Words after the command: subcommands. */
  readonly words: readonly string[];
}

const tableOf = (program: Command): readonly Completed[] =>
  program.commands.map((command) => ({
    name: command.name(),
    description: command.description().replace(/['"`\\$]/g, ''),
    flags: [
      ...new Set(
        [command, ...command.commands].flatMap((each) =>
          each.options.flatMap(({ long, hidden }) => (hidden ? [] : (long ?? []))),
        ),
      ),
      '--help',
    ],
    words: command.commands.map((each) => each.name()),
  }));

const bash = (
  table: readonly Completed[],
): string => `# emend completion for bash: eval "$(emend completion bash)"
_emend() {
  local word="\${COMP_WORDS[COMP_CWORD]}" words="" flags=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${[...table.map(({ name }) => name), 'help', '--help', '--version'].join(' ')}" -- "$word"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${table.map(({ name, flags, words }) => `    ${name}) flags="${flags.join(' ')}"; words="${words.join(' ')}" ;;`).join('\n')}
  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$flags" -- "$word")) ;;
    *) if [ "$COMP_CWORD" -eq 2 ] && [ -n "$words" ]; then COMPREPLY=($(compgen -W "$words" -- "$word")); fi ;;
  esac
}
# Where nothing of ours fits, files are completed.
complete -o default -F _emend emend
`;

const zsh = (table: readonly Completed[]): string => `#compdef emend
# emend completion for zsh, after compinit: eval "$(emend completion zsh)"
_emend() {
  local -a commands flags subs
  if (( CURRENT == 2 )); then
    commands=(
${table.map(({ name, description }) => `      '${name}:${description}'`).join('\n')}
    )
    _describe command commands
    return
  fi
  case "$words[2]" in
${table.map(({ name, flags, words }) => `    ${name}) flags=(${flags.join(' ')}); subs=(${words.join(' ')}) ;;`).join('\n')}
  esac
  if [[ "$PREFIX" == -* ]]; then compadd -- $flags
  elif (( CURRENT == 3 )) && (( \${#subs} )); then compadd -- $subs
  else _files
  fi
}
compdef _emend emend
`;

const fish = (
  table: readonly Completed[],
): string => `# emend completion for fish: emend completion fish | source
# The command, and nothing after it yet: its subcommands fit here alone.
function __emend_at
  set -l words (commandline -opc)
  test (count $words) -eq 2; and test $words[2] = $argv[1]
end
function __emend_in
  set -l words (commandline -opc)
  test (count $words) -ge 2; and test $words[2] = $argv[1]
end
complete -c emend -n __fish_use_subcommand -f
${table
  .flatMap(({ name, description, flags, words }) => [
    `complete -c emend -n __fish_use_subcommand -a ${name} -d '${description}'`,
    ...flags.map((flag) => `complete -c emend -n '__emend_in ${name}' -l ${flag.slice(2)}`),
    ...words.map((word) => `complete -c emend -n '__emend_at ${name}' -f -a ${word}`),
  ])
  .join('\n')}
`;

const SCRIPTS: Record<Shell, (table: readonly Completed[]) => string> = { bash, zsh, fish };

export const completion = (io: Io, program: Command, shell: Shell): ExitCode => {
  io.write(SCRIPTS[shell](tableOf(program)));
  return EXIT.done;
};
