/** A response in each form of a call, as its source writes it, and what the files are afterwards. */

export const BASE: Readonly<Record<string, string>> = {
  'a.ts': 'const one = 1;\nconst two = 2;\nconst three = 3;\n',
  'old.txt': 'gone\n',
};
const TWO = 'const one = 1;\nconst two = 22;\nconst three = 3;\n';
const BOTH = 'const one = 11;\nconst two = 22;\nconst three = 3;\n';
const INSERTED = 'const one = 1;\nconst half = 1.5;\nconst two = 2;\nconst three = 3;\n';
const CHANGED = { 'a.ts': TWO };
const NEW = { 'new.ts': 'export {};\n' };

const BLOCK = '<<<<<<< SEARCH\nconst two = 2;\n=======\nconst two = 22;\n>>>>>>> REPLACE';
const CLINE_BLOCK = '------- SEARCH\nconst two = 2;\n=======\nconst two = 22;\n+++++++ REPLACE';
const PATCH =
  '*** Begin Patch\n*** Update File: a.ts\n@@\n-const two = 2;\n+const two = 22;\n*** End Patch';
const [OLD, FRESH] = ['two = 2;', 'two = 22;'];

/** `refusal`: the code of the first reason. */
export interface CallExample {
  /** Source, name and keys of the form (`idOf`). */
  readonly form: string;
  readonly response: string;
  readonly result?: Readonly<Record<string, string | null>>;
  readonly refusal?: string;
}
const say = (
  form: string,
  response: object | string,
  result: CallExample['result'] | string,
): CallExample => {
  const text = typeof response === 'string' ? response : JSON.stringify(response, null, 1);
  return typeof result === 'string'
    ? { form, response: text, refusal: result }
    : { form, response: text, result: result ?? {} };
};
const use = (name: string, input: object): object => ({
  type: 'tool_use',
  id: 'toolu_01A09q90qw90lq917835lq9',
  name,
  input,
});
const tag = (name: string, args: Readonly<Record<string, string>>): string =>
  `<${name}>\n${Object.entries(args)
    .map(([key, value]) =>
      value.includes('\n') ? `<${key}>\n${value}\n</${key}>\n` : `<${key}>${value}</${key}>\n`,
    )
    .join('')}</${name}>\n`;
const openai = (name: string, args: object): object => ({
  role: 'assistant',
  content: null,
  tool_calls: [
    { id: 'call_1', type: 'function', function: { name, arguments: JSON.stringify(args) } },
  ],
});

export const EXAMPLES: readonly CallExample[] = [
  say(
    'Claude Code Edit',
    use('Edit', { file_path: 'a.ts', old_string: OLD, new_string: FRESH, replace_all: false }),
    CHANGED,
  ),
  say(
    'Claude Code MultiEdit',
    use('MultiEdit', {
      file_path: 'a.ts',
      edits: [
        { old_string: 'one = 1', new_string: 'one = 11' },
        { old_string: OLD, new_string: FRESH },
      ],
    }),
    { 'a.ts': BOTH },
  ),
  say('Claude Code Write', use('Write', { file_path: 'new.ts', content: 'export {};\n' }), NEW),
  say(
    'Claude Code NotebookEdit',
    use('NotebookEdit', { notebook_path: 'n.ipynb', cell_id: 'c1', new_source: 'x = 1' }),
    'call_unread',
  ),
  say(
    'Claude, OpenHands, SWE-agent str_replace',
    use('str_replace_based_edit_tool', {
      command: 'str_replace',
      path: 'a.ts',
      old_str: OLD,
      new_str: FRESH,
    }),
    CHANGED,
  ),
  say(
    'Claude, OpenHands, SWE-agent create',
    use('str_replace_editor', { command: 'create', path: 'new.ts', file_text: 'export {};\n' }),
    NEW,
  ),
  say(
    'Claude, OpenHands, SWE-agent insert',
    { command: 'insert', path: 'a.ts', insert_line: 1, new_str: 'const half = 1.5;\n' },
    { 'a.ts': INSERTED },
  ),
  say(
    'Claude, July 2025 insert',
    use('str_replace_based_edit_tool', {
      command: 'insert',
      path: 'a.ts',
      insert_line: 1,
      insert_text: 'const half = 1.5;',
    }),
    { 'a.ts': INSERTED },
  ),
  say(
    'Claude, OpenHands, SWE-agent view',
    [
      use('str_replace_editor', { command: 'view', path: 'a.ts', view_range: [1, 2] }),
      use('str_replace_editor', {
        command: 'str_replace',
        path: 'a.ts',
        old_str: OLD,
        new_str: FRESH,
        security_risk: 'LOW',
      }),
    ],
    CHANGED,
  ),
  say(
    'Claude, OpenHands, SWE-agent undo_edit',
    { command: 'undo_edit', path: 'a.ts' },
    'call_unread',
  ),
  say(
    'Goose write',
    {
      name: 'developer__text_editor',
      arguments: { command: 'write', path: 'new.ts', file_text: 'export {};\n' },
    },
    NEW,
  ),
  say(
    'Augment save-file',
    {
      name: 'save-file',
      input: {
        instructions_reminder: 'LIMIT THE FILE CONTENT',
        path: 'new.ts',
        file_content: 'export {};',
        add_last_line_newline: true,
      },
    },
    NEW,
  ),
  say(
    'Cline, Roo Code write_to_file',
    tag('write_to_file', { path: 'new.ts', content: 'export {};\n', line_count: '1' }).replace(
      '\n\n',
      '\n',
    ),
    NEW,
  ),
  say(
    'Cline write_to_file',
    { name: 'write_to_file', input: { absolutePath: 'new.ts', content: 'export {};\n' } },
    NEW,
  ),
  say(
    'Cline replace_in_file',
    tag('replace_in_file', {
      path: 'a.ts',
      diff: CLINE_BLOCK,
      task_progress: '- [x] one\n- [ ] two',
    }),
    CHANGED,
  ),
  say(
    'Roo Code apply_diff',
    tag('apply_diff', {
      path: 'a.ts',
      diff: BLOCK.replace('SEARCH\n', 'SEARCH\n:start_line:2\n-------\n'),
    }),
    CHANGED,
  ),
  say(
    'Roo Code insert_content',
    tag('insert_content', { path: 'a.ts', line: '2', content: '\nconst half = 1.5;'.trim() }),
    { 'a.ts': INSERTED },
  ),
  say(
    'Roo Code search_and_replace',
    tag('search_and_replace', { path: 'a.ts', search: OLD, replace: FRESH, use_regex: 'false' }),
    CHANGED,
  ),
  say(
    'Roo Code search_replace',
    tag('search_replace', { file_path: 'a.ts', old_string: OLD, new_string: FRESH }),
    CHANGED,
  ),
  say(
    'Gemini CLI, Qwen Code replace',
    {
      functionCall: {
        name: 'replace',
        args: {
          file_path: 'a.ts',
          instruction: 'Raise two.',
          old_string: OLD,
          new_string: FRESH,
          expected_replacements: 1,
        },
      },
    },
    CHANGED,
  ),
  say(
    'Gemini CLI, Qwen Code write_file',
    { name: 'write_file', args: { file_path: 'new.ts', content: 'export {};\n' } },
    NEW,
  ),
  say(
    'opencode edit',
    { filePath: 'a.ts', oldString: OLD, newString: FRESH, replaceAll: false },
    CHANGED,
  ),
  say(
    'opencode multiedit',
    {
      tool: 'multiedit',
      input: { filePath: 'a.ts', edits: [{ oldString: OLD, newString: FRESH }] },
    },
    CHANGED,
  ),
  say(
    'opencode write',
    { tool: 'write', parameters: { filePath: 'new.ts', content: 'export {};\n' } },
    NEW,
  ),
  say('opencode patch', { tool: 'patch', input: { patchText: PATCH } }, CHANGED),
  say(
    'Copilot replace_string_in_file',
    openai('replace_string_in_file', {
      explanation: 'Raise two.',
      filePath: 'a.ts',
      oldString: OLD,
      newString: FRESH,
    }),
    CHANGED,
  ),
  say(
    'Copilot multi_replace_string_in_file',
    openai('multi_replace_string_in_file', {
      explanation: 'Raise both.',
      replacements: [
        { explanation: 'one', filePath: 'a.ts', oldString: 'one = 1', newString: 'one = 11' },
        { filePath: 'a.ts', oldString: OLD, newString: FRESH },
      ],
    }),
    { 'a.ts': BOTH },
  ),
  say(
    'Copilot create_file',
    openai('create_file', { filePath: 'new.ts', content: 'export {};\n' }),
    NEW,
  ),
  say(
    'Copilot insert_edit_into_file',
    openai('insert_edit_into_file', {
      explanation: 'x',
      filePath: 'a.ts',
      code: 'const two = 22;\n',
    }),
    'file_exists',
  ),
  say(
    'Cursor edit_file',
    {
      name: 'edit_file',
      arguments: { target_file: 'new.ts', instructions: 'Create it.', code_edit: 'export {};\n' },
    },
    NEW,
  ),
  say(
    'Cursor search_replace',
    {
      name: 'search_replace',
      arguments: { file_path: 'a.ts', old_string: OLD, new_string: FRESH },
    },
    CHANGED,
  ),
  say(
    'Cursor write',
    { name: 'write', arguments: { file_path: 'new.ts', contents: 'export {};\n' } },
    NEW,
  ),
  say(
    'Cursor delete_file',
    { name: 'delete_file', arguments: { target_file: 'old.txt', explanation: 'unused' } },
    { 'old.txt': null },
  ),
  say(
    'Codex apply_patch',
    {
      type: 'function_call',
      name: 'apply_patch',
      arguments: JSON.stringify({ input: PATCH }),
      call_id: 'call_1',
    },
    CHANGED,
  ),
  say('Roo Code apply_patch', tag('apply_patch', { patch: PATCH }), CHANGED),
  say(
    'OpenAI Responses API update_file',
    {
      type: 'apply_patch_call',
      call_id: 'call_1',
      operation: {
        type: 'update_file',
        path: 'a.ts',
        diff: '@@\n const one = 1;\n-const two = 2;\n+const two = 22;\n',
      },
    },
    CHANGED,
  ),
  say(
    'Codex shell',
    openai('shell', {
      command: ['bash', '-lc', `apply_patch <<'EOF'\n${PATCH}\nEOF\n`],
      workdir: '.',
    }),
    CHANGED,
  ),
  say(
    'Codex exec_command',
    { name: 'exec_command', arguments: { cmd: `apply_patch <<'PATCH'\n${PATCH}\nPATCH` } },
    CHANGED,
  ),
  say('pi edit oldText', { path: 'a.ts', oldText: OLD, newText: FRESH }, CHANGED),
  say('pi edit edits', { path: 'a.ts', edits: [{ oldText: OLD, newText: FRESH }] }, CHANGED),
  say(
    'Zed, ollama edit_file',
    {
      name: 'edit_file',
      input: {
        display_description: 'Raise two',
        path: 'a.ts',
        mode: 'edit',
        edits: JSON.stringify([{ old_text: OLD, new_text: FRESH }]),
      },
    },
    CHANGED,
  ),
  say('Zed, ollama', { path: 'a.ts', old_text: OLD, new_text: FRESH }, CHANGED),
  say(
    'Zed edit_file',
    {
      name: 'edit_file',
      input: {
        display_description: 'Make it',
        path: 'new.ts',
        mode: 'create',
        content: 'export {};\n',
      },
    },
    NEW,
  ),
  say('Amp edit_file', use('edit_file', { path: 'a.ts', old_str: OLD, new_str: FRESH }), CHANGED),
  say(
    'Continue single_find_and_replace',
    openai('single_find_and_replace', { filepath: 'a.ts', old_string: OLD, new_string: FRESH }),
    CHANGED,
  ),
  say(
    'Continue multi_edit',
    openai('multi_edit', {
      filepath: 'a.ts',
      edits: [{ old_string: OLD, new_string: FRESH, replace_all: 'false' }],
    }),
    CHANGED,
  ),
  say(
    'Continue create_new_file',
    openai('create_new_file', { filepath: 'new.ts', contents: 'export {};\n' }),
    NEW,
  ),
  say(
    'Continue edit_existing_file',
    openai('edit_existing_file', {
      filepath: 'a.ts',
      changes: '// ... existing code ...\nconst two = 22;\n',
    }),
    'file_exists',
  ),
  say(
    'Codebuff str_replace replacements',
    {
      name: 'str_replace',
      input: { path: 'a.ts', replacements: [{ old: OLD, new: FRESH, allowMultiple: false }] },
    },
    CHANGED,
  ),
  say(
    'Codebuff str_replace old',
    { name: 'str_replace', input: { path: 'a.ts', old: OLD, new: FRESH } },
    CHANGED,
  ),
  say(
    'Kimi CLI StrReplaceFile',
    {
      name: 'StrReplaceFile',
      arguments: { path: 'a.ts', edit: { old: OLD, new: FRESH, replace_all: false } },
    },
    CHANGED,
  ),
  say(
    'Kimi CLI WriteFile',
    {
      name: 'WriteFile',
      arguments: { path: 'a.ts', content: 'const four = 4;\n', mode: 'append' },
    },
    { 'a.ts': `${BASE['a.ts']}const four = 4;\n` },
  ),
  say(
    'Windsurf replace_file_content',
    {
      name: 'replace_file_content',
      arguments: {
        TargetFile: 'a.ts',
        CodeMarkdownLanguage: 'typescript',
        Instruction: 'Raise two',
        ReplacementChunks: [
          { TargetContent: OLD, ReplacementContent: FRESH, AllowMultiple: false },
        ],
      },
    },
    CHANGED,
  ),
  say(
    'Windsurf, Antigravity replace_file_content',
    {
      name: 'replace_file_content',
      arguments: {
        TargetFile: 'a.ts',
        Instruction: 'Raise two',
        StartLine: 2,
        EndLine: 2,
        TargetContent: OLD,
        ReplacementContent: FRESH,
        AllowMultiple: false,
      },
    },
    CHANGED,
  ),
  say(
    'Windsurf write_to_file',
    {
      name: 'write_to_file',
      arguments: { TargetFile: 'new.ts', CodeContent: 'export {};\n', EmptyFile: false },
    },
    NEW,
  ),
  say(
    'MCP filesystem server edit_file',
    {
      name: 'mcp__filesystem__edit_file',
      arguments: { path: 'a.ts', edits: [{ oldText: OLD, newText: FRESH }], dryRun: false },
    },
    CHANGED,
  ),
  say('Aider, Junie', { filename: 'a.ts', search: OLD, replace: FRESH }, CHANGED),
  say(
    'bolt.new boltAction',
    '<boltArtifact id="x" title="X">\n<boltAction type="file" filePath="new.ts">\nexport {};\n</boltAction>\n</boltArtifact>\n',
    NEW,
  ),
  say('Lovable lov-write', '<lov-write file_path="new.ts">\nexport {};\n</lov-write>\n', NEW),
  say('chat models file', '<file path="new.ts">\nexport {};\n</file>\n', NEW),
  say('chat models files', { files: [{ path: 'new.ts', content: 'export {};\n' }] }, NEW),
  say(
    'Claude Code, Gemini CLI, Cline Read',
    [
      use('Read', { file_path: 'a.ts' }),
      use('Edit', { file_path: 'a.ts', old_string: OLD, new_string: FRESH }),
    ],
    CHANGED,
  ),
];

/** Envelopes and shapes in which a call may come. */
const EDIT = { file_path: 'a.ts', old_string: OLD, new_string: FRESH };
const PARAMETERS = Object.entries(EDIT);
export const ENVELOPES: Readonly<Record<string, object | string>> = {
  'bare arguments': EDIT,
  'a list': [EDIT],
  'name and arguments': { name: 'Edit', arguments: EDIT },
  'name and arguments as text': { name: 'Edit', arguments: JSON.stringify(EDIT) },
  'name and parameters': { name: 'Edit', parameters: EDIT },
  'tool and args': { tool: 'Edit', args: EDIT },
  'the name among the arguments': { tool: 'Edit', ...EDIT },
  'tool_use of Anthropic': use('Edit', EDIT),
  'a message of Anthropic': {
    role: 'assistant',
    content: [{ type: 'text', text: 'I raise two.' }, use('Edit', EDIT)],
    stop_reason: 'tool_use',
  },
  'tool_calls of OpenAI': openai('Edit', EDIT),
  'a completion of OpenAI': {
    choices: [{ index: 0, message: openai('Edit', EDIT), finish_reason: 'tool_calls' }],
  },
  'function_call of OpenAI': {
    role: 'assistant',
    content: null,
    function_call: { name: 'Edit', arguments: JSON.stringify(EDIT) },
  },
  'an output of the Responses API': {
    output: [
      { type: 'function_call', name: 'Edit', arguments: JSON.stringify(EDIT), call_id: 'c' },
    ],
  },
  'parallel tool uses': { tool_uses: [{ recipient_name: 'functions.Edit', parameters: EDIT }] },
  'functionCall of Gemini': { functionCall: { name: 'Edit', args: EDIT } },
  'parts of Gemini': { role: 'model', parts: [{ functionCall: { name: 'Edit', args: EDIT } }] },
  'action and input of LangChain': { action: 'Edit', action_input: EDIT },
  'tool_name and tool_input of hooks': { tool_name: 'Edit', tool_input: EDIT },
  'tool_call of Hermes': `<tool_call>\n${JSON.stringify({ name: 'Edit', arguments: EDIT })}\n</tool_call>\n`,
  'tool_call on one line': `<tool_call>${JSON.stringify({ name: 'Edit', arguments: EDIT })}</tool_call>\n`,
  'invoke of Claude': `<function_calls>\n<invoke name="Edit">\n${PARAMETERS.map(([key, value]) => `<parameter name="${key}">${value}</parameter>\n`).join('')}</invoke>\n</function_calls>\n`,
  'function of Qwen': `<tool_call>\n<function=Edit>\n${PARAMETERS.map(([key, value]) => `<parameter=${key}>\n${value}\n</parameter>\n`).join('')}</function>\n</tool_call>\n`,
  'a fence around JSON': `I raise two.\n\n\`\`\`json\n${JSON.stringify(EDIT, null, 2)}\n\`\`\`\n\nDone.\n`,
  'a fence around tags': `\`\`\`xml\n${tag('search_replace', EDIT)}\`\`\`\n`,
  'prose around tags': `I raise two.\n\n${tag('search_replace', EDIT)}\nDone.\n`,
  'arg_key of GLM': `<tool_call>edit\n${PARAMETERS.map(([key, value]) => `<arg_key>${key}</arg_key>\n<arg_value>${value}</arg_value>\n`).join('')}</tool_call>\n`,
  'TOOL_CALLS of Mistral': `[TOOL_CALLS][${JSON.stringify({ name: 'edit', arguments: EDIT })}]`,
  'tokens of Kimi': `<|tool_calls_section_begin|><|tool_call_begin|>functions.edit:0<|tool_call_argument_begin|>${JSON.stringify(EDIT)}<|tool_call_end|><|tool_calls_section_end|>`,
  'a tag of any name': tag('change', EDIT),
  'several edits in tags': `<multi_edit>\n<path>a.ts</path>\n<edits>\n<edit>\n<old_string>${OLD}</old_string>\n<new_string>${FRESH}</new_string>\n</edit>\n</edits>\n</multi_edit>\n`,
  'several files of Roo Code': `<apply_diff>\n<args>\n<file>\n  <path>a.ts</path>\n  <diff>\n    <content><![CDATA[\n${BLOCK}\n]]></content>\n    <start_line>2</start_line>\n  </diff>\n</file>\n</args>\n</apply_diff>\n`,
  'edits as one object': { path: 'a.ts', edits: { oldText: OLD, newText: FRESH } },
  'edits as JSON text': { path: 'a.ts', edits: JSON.stringify([{ oldText: OLD, newText: FRESH }]) },
  'an edit as JSON text': {
    path: 'a.ts',
    edits: [JSON.stringify({ oldText: OLD, newText: FRESH })],
  },
  'arguments of no use, as null': {
    command: 'str_replace',
    path: 'a.ts',
    old_str: OLD,
    new_str: FRESH,
    insert_line: null,
    file_text: null,
  },
  'keys in any spelling': { File_Path: 'a.ts', 'old-string': OLD, NEWSTRING: FRESH },
  'a diff without its own header': {
    path: 'a.ts',
    diff: '@@ -1,3 +1,3 @@\n const one = 1;\n-const two = 2;\n+const two = 22;\n const three = 3;\n',
  },
};
