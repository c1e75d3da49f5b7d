/**
 * The calls of other tools' edits, as data: what a call is named, how its keys are spelled, and what it means. Both readers of calls
 * (dialects/string-replace.ts and dialects/xml-call.ts) and the table in docs/formats.md come from these rows, so a new form is a row here and an example of it
 * in test/edits/calls/forms.test.ts.
 *
 * A key is compared without its letter case and without `_` and `-`, so `old_string` is `oldString` as well.
 */

/** What a value of a call is for. */
export type Argument =
  | 'path'
  /** The text that goes, and what comes instead. */
  | 'old'
  | 'new'
  /** Every place is meant; so many places are meant. */
  | 'all'
  | 'count'
  /** Several edits of one file, or of several. */
  | 'edits'
  /** The content of a file, or lines of it. */
  | 'text'
  /** The text comes behind this line; before it. */
  | 'after'
  | 'before'
  | 'patch'
  | 'diff'
  | 'command'
  /** How a file is written. */
  | 'mode';

/**
 * `write`: the file holds `text` afterwards. `create`: the same of a file that is not there. `sketch`: the text may leave lines out, so it is
 * one of `create` only. `end`: `text` comes behind the last line. `none`: the call edits nothing. `unread`: its meaning is not exact.
 */
export type Meaning =
  | 'replace'
  | 'write'
  | 'create'
  | 'sketch'
  | 'insert'
  | 'end'
  | 'delete'
  | 'patch'
  | 'diff'
  | 'shell'
  | 'none'
  | 'unread';

export interface CallForm {
  /** Whose form it is. */
  readonly source: string;
  /** Names of the call; none: the keys alone say what it is. */
  readonly names: readonly string[];
  /** The value of `command` that says what the call does; null: the name does. */
  readonly command: string | null;
  readonly meaning: Meaning;
  /** Keys as the source spells them. */
  readonly keys: Readonly<Partial<Record<Argument, string>>>;
  /** Keys without a meaning for the edit. */
  readonly ignored: readonly string[];
}

type Keys = CallForm['keys'];
const form = (
  source: string,
  names: string,
  [meaning, keys]: readonly [Meaning, Keys],
  {
    command = null,
    ignored = '',
  }: { readonly command?: string | null; readonly ignored?: string } = {},
): CallForm => {
  const words = (text: string): string[] => text.split(' ').filter((word) => word !== '');
  return { source, names: words(names), command, meaning, keys, ignored: words(ignored) };
};

const STRINGS: Keys = { path: 'file_path', old: 'old_string', new: 'new_string' };
const CAMEL_STRINGS: Keys = { path: 'filePath', old: 'oldString', new: 'newString' };
const EDITOR = 'str_replace_based_edit_tool str_replace_editor text_editor';

export const CALL_FORMS: readonly CallForm[] = [
  form('Claude Code', 'Edit', ['replace', { ...STRINGS, all: 'replace_all' }]),
  form('Claude Code', 'MultiEdit', ['replace', { path: 'file_path', edits: 'edits' }]),
  form('Claude Code', 'Write', ['write', { path: 'file_path', text: 'content' }]),
  form('Claude Code', 'NotebookEdit', ['unread', { path: 'notebook_path', text: 'new_source' }], {
    ignored: 'cell_id cell_type edit_mode cell_number',
  }),
  form(
    'Claude, OpenHands, SWE-agent',
    EDITOR,
    ['replace', { path: 'path', old: 'old_str', new: 'new_str' }],
    { command: 'str_replace', ignored: 'security_risk summary' },
  ),
  form('Claude, OpenHands, SWE-agent', EDITOR, ['create', { path: 'path', text: 'file_text' }], {
    command: 'create',
  }),
  form(
    'Claude, OpenHands, SWE-agent',
    EDITOR,
    ['insert', { path: 'path', after: 'insert_line', new: 'new_str' }],
    { command: 'insert' },
  ),
  form(
    'Claude, July 2025',
    EDITOR,
    ['insert', { path: 'path', after: 'insert_line', text: 'insert_text' }],
    { command: 'insert' },
  ),
  form('Claude, OpenHands, SWE-agent', EDITOR, ['none', { path: 'path' }], {
    command: 'view',
    ignored: 'view_range',
  }),
  form('Claude, OpenHands, SWE-agent', EDITOR, ['unread', { path: 'path' }], {
    command: 'undo_edit',
  }),
  form('Goose', EDITOR, ['write', { path: 'path', text: 'file_text' }], { command: 'write' }),
  form('Augment', 'save-file', ['create', { path: 'path', text: 'file_content' }], {
    ignored: 'instructions_reminder add_last_line_newline',
  }),
  form('Cline, Roo Code', 'write_to_file', ['write', { path: 'path', text: 'content' }], {
    ignored: 'line_count task_progress',
  }),
  form('Cline', 'write_to_file', ['write', { path: 'absolutePath', text: 'content' }]),
  form('Cline', 'replace_in_file', ['diff', { path: 'path', diff: 'diff' }], {
    ignored: 'task_progress',
  }),
  form('Roo Code', 'apply_diff', ['diff', { path: 'path', diff: 'diff' }], {
    ignored: 'start_line',
  }),
  form('Roo Code', 'insert_content', ['insert', { path: 'path', before: 'line', text: 'content' }]),
  form('Roo Code', 'search_and_replace', [
    'replace',
    {
      path: 'path',
      old: 'search',
      new: 'replace',
    },
  ]),
  form('Roo Code', 'search_replace', ['replace', STRINGS]),
  form(
    'Gemini CLI, Qwen Code',
    'replace',
    ['replace', { ...STRINGS, count: 'expected_replacements', all: 'allow_multiple' }],
    { ignored: 'instruction' },
  ),
  form('Gemini CLI, Qwen Code', 'write_file', ['write', { path: 'file_path', text: 'content' }]),
  form('opencode', 'edit', ['replace', { ...CAMEL_STRINGS, all: 'replaceAll' }]),
  form('opencode', 'multiedit', ['replace', { path: 'filePath', edits: 'edits' }]),
  form('opencode', 'write', ['write', { path: 'filePath', text: 'content' }]),
  form('opencode', 'patch', ['patch', { patch: 'patchText' }]),
  form('Copilot', 'replace_string_in_file', ['replace', CAMEL_STRINGS], { ignored: 'explanation' }),
  form('Copilot', 'multi_replace_string_in_file', ['replace', { edits: 'replacements' }], {
    ignored: 'explanation',
  }),
  form('Copilot', 'create_file', ['create', { path: 'filePath', text: 'content' }]),
  form('Copilot', 'insert_edit_into_file', ['sketch', { path: 'filePath', text: 'code' }], {
    ignored: 'explanation',
  }),
  form('Cursor', 'edit_file', ['sketch', { path: 'target_file', text: 'code_edit' }], {
    ignored: 'instructions',
  }),
  form('Cursor', 'search_replace', ['replace', STRINGS]),
  form('Cursor', 'write', ['write', { path: 'file_path', text: 'contents' }]),
  form('Cursor', 'delete_file', ['delete', { path: 'target_file' }], { ignored: 'explanation' }),
  form('Codex', 'apply_patch', ['patch', { patch: 'input' }], { ignored: 'explanation' }),
  form('Roo Code', 'apply_patch', ['patch', { patch: 'patch' }]),
  form('OpenAI Responses API', 'update_file create_file', ['diff', { path: 'path', diff: 'diff' }]),
  form(
    'Codex',
    'shell local_shell exec_command shell_command container.exec',
    ['shell', { command: 'command' }],
    {
      ignored:
        'workdir timeout timeout_ms justification with_escalated_permissions sandbox_permissions',
    },
  ),
  form('Codex', 'exec_command', ['shell', { command: 'cmd' }], {
    ignored: 'yield_time_ms max_output_tokens login',
  }),
  form('pi', 'edit', ['replace', { path: 'path', old: 'oldText', new: 'newText' }]),
  form('pi', 'edit', ['replace', { path: 'path', edits: 'edits' }]),
  form('Zed, ollama', 'edit_file', ['replace', { path: 'path', edits: 'edits', mode: 'mode' }], {
    ignored: 'display_description',
  }),
  form('Zed, ollama', '', ['replace', { path: 'path', old: 'old_text', new: 'new_text' }]),
  form('Zed', 'edit_file', ['write', { path: 'path', text: 'content', mode: 'mode' }], {
    ignored: 'display_description',
  }),
  form('Amp', 'edit_file', [
    'replace',
    {
      path: 'path',
      old: 'old_str',
      new: 'new_str',
      all: 'replace_all',
    },
  ]),
  form('Continue', 'single_find_and_replace', [
    'replace',
    {
      path: 'filepath',
      old: 'old_string',
      new: 'new_string',
      all: 'replace_all',
    },
  ]),
  form('Continue', 'multi_edit', ['replace', { path: 'filepath', edits: 'edits' }]),
  form('Continue', 'create_new_file', ['create', { path: 'filepath', text: 'contents' }]),
  form('Continue', 'edit_existing_file', ['sketch', { path: 'filepath', text: 'changes' }]),
  form('Codebuff', 'str_replace', ['replace', { path: 'path', edits: 'replacements' }]),
  form('Codebuff', 'str_replace', [
    'replace',
    {
      path: 'path',
      old: 'old',
      new: 'new',
      all: 'allowMultiple',
    },
  ]),
  form('Kimi CLI', 'StrReplaceFile', ['replace', { path: 'path', edits: 'edit' }]),
  form('Kimi CLI', 'WriteFile', ['write', { path: 'path', text: 'content', mode: 'mode' }]),
  form(
    'Windsurf',
    'replace_file_content',
    ['replace', { path: 'TargetFile', edits: 'ReplacementChunks' }],
    {
      ignored:
        'Instruction CodeMarkdownLanguage TargetLintErrorIds Complexity Description toolSummary',
    },
  ),
  form(
    'Windsurf, Antigravity',
    'replace_file_content',
    [
      'replace',
      { path: 'TargetFile', old: 'TargetContent', new: 'ReplacementContent', all: 'AllowMultiple' },
    ],
    { ignored: 'Instruction StartLine EndLine' },
  ),
  form('Windsurf', 'write_to_file', ['create', { path: 'TargetFile', text: 'CodeContent' }], {
    ignored: 'EmptyFile',
  }),
  form('MCP filesystem server', 'edit_file', ['replace', { path: 'path', edits: 'edits' }], {
    ignored: 'dryRun',
  }),
  form('Aider, Junie', '', ['replace', { path: 'filename', old: 'search', new: 'replace' }]),
  form('bolt.new', 'boltAction', ['write', { path: 'filePath', text: 'content' }], {
    ignored: 'contentType',
  }),
  form('Lovable', 'lov-write', ['write', { path: 'file_path', text: 'content' }]),
  form('chat models', 'file', ['write', { path: 'path', text: 'content' }]),
  form('chat models', '', ['write', { edits: 'files' }]),
  form(
    'Claude Code, Gemini CLI, Cline',
    'Read read_file view_file list_files search_files Grep Glob',
    ['none', { path: 'path' }],
  ),
];

/** The table of docs/formats.md, which lists every form. */
export const formTable = (): string => {
  const rows = CALL_FORMS.map(({ source, names, command, meaning, keys, ignored }) => {
    const list = names.map((name) => `\`${name}\``).join(', ') || 'without a name';
    const call = command === null ? list : `${list} with \`command\`: \`${command}\``;
    const own = Object.values(keys).map((key) => `\`${key}\``);
    const rest =
      ignored.length === 0 ? '' : `; ignored: ${ignored.map((key) => `\`${key}\``).join(', ')}`;
    return `| ${source} | ${call} | ${own.join(', ')}${rest} | ${WORDS[meaning]} |`;
  });
  return ['| source | call | keys | meaning |', '|---|---|---|---|', ...rows].join('\n');
};

const WORDS: Readonly<Record<Meaning, string>> = {
  replace: 'replaces a text',
  write: 'writes the whole file',
  create: 'creates a file',
  sketch: 'creates a file; refused if it exists, as the text may leave lines out',
  insert: 'inserts lines at a line number',
  end: 'appends lines',
  delete: 'deletes a file',
  patch: 'a `begin-patch`',
  diff: 'blocks of `search-blocks`, or hunks of a diff',
  shell: 'a `begin-patch` in a heredoc; any other command is refused',
  none: 'nothing, and is ignored',
  unread: 'refused',
};
