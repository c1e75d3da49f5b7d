/**
 * Generated plans: a document with white space, tasks and notes that nobody may touch, and a file for each phase. Each has a repository
 * of its own, so that whatever is found there of commits, marks, branches and worktrees is its own.
 */
import { FORMATS } from '../../src/shared/formats.js';
import { answersTo, filesOf, type Carrier, type Traits } from './jobs.js';

export interface PlannedPhase {
  readonly number: number;
  readonly name: string;
  /** The file that it changes. */
  readonly path: string;
  /** Numbers of the phases that it waits for; null: the document does not say. */
  readonly after: readonly number[] | null;
}
export interface PlanDocument {
  readonly path: string;
  readonly text: string;
  readonly phases: readonly PlannedPhase[];
}

/** `phases`: one after the other. `waves`: two side by side, then the third. */
const phasesOf = (
  name: string,
  paths: readonly string[],
  shape: 'phases' | 'waves',
): PlannedPhase[] =>
  paths.map((path, i) => ({
    number: i + 1,
    name: `${['First', 'Second', 'Third'][i] ?? ''} of ${name}`,
    path,
    after: shape === 'phases' ? null : i < 2 ? [] : [1, 2],
  }));

const PROGRESS = '\n## Implementation Progress\n\n';
/** Blanks at line ends, tabs and a list of a person's own: bytes that a reflow would lose. */
const textOf = (name: string, phases: readonly PlannedPhase[]): string =>
  [
    `# Plan of ${name}`,
    '',
    'What a person  wrote stays as it is.  ',
    '* their own\tlist',
    '',
    ...phases.flatMap((phase) => [
      `### Phase ${phase.number}: ${phase.name}`,
      `**Objective**: Say in the tenth line of \`${phase.path}\` that it was edited`,
      ...(phase.after === null ? [] : [`**Dependencies**: [${phase.after.join(', ')}]`]),
      '',
      `- [ ] Edit \`${phase.path}\``,
      '+ [ ] Look at it   ',
      '',
    ]),
  ].join('\n');

/** A person's line, under the words that they wrote before. */
export const withNote = (text: string, note: string | null): string =>
  note === null ? text : text.replace('* their own\tlist\n', (line) => `${line}* ${note}\n`);

/** The document as it was before anything was marked in it. */
export const unmarked = (text: string): string =>
  (text.split(PROGRESS)[0] ?? '')
    .replaceAll(/^(### Phase .*?) \[(?:COMPLETED|SKIPPED|INCOMPLETE)\]$/gm, '$1')
    .replaceAll(/^([-+] )\[x\]/gm, '$1[ ]');

/** What the document says of a phase: its markers, and its tasks that are done and that are not. */
export const markOf = (text: string, { number, name }: Pick<PlannedPhase, 'number' | 'name'>) => {
  const head = `### Phase ${number}: ${name}`;
  const from = text.split('\n').findIndex((line) => line.startsWith(head));
  const lines = text.split('\n').slice(from);
  const end = lines.findIndex((line, i) => i > 0 && line.startsWith('##'));
  const own = lines.slice(0, end < 0 ? undefined : end);
  return {
    marker: (own[0] ?? '').slice(head.length).trim(),
    done: own.filter((line) => /^[-+] \[x\]/.test(line)).length,
    open: own.filter((line) => /^[-+] \[ \]/.test(line)).length,
  };
};

export const planCarrierOf = (
  name: string,
  workspace: string,
  traits: Traits & { readonly plan: 'phases' | 'waves' },
): Carrier => {
  const paths = ['a.txt', 'b.txt', 'c.txt']
    .slice(0, traits.files + 1)
    .map((file) => `${name}/${file}`);
  const phases = phasesOf(name, paths, traits.plan);
  const document = {
    path: `plans/${name.slice(1).padStart(3, '0')}_${name}.md`,
    text: textOf(name, phases),
    phases,
  };
  // Must pass before anything is edited, too: phases side by side begin with it.
  const test =
    traits.tests === 'none'
      ? null
      : `${traits.tests === 'slow' ? 'sleep 1; ' : ''}test -s ${paths[0]!}`;
  const config = [
    'formats:',
    ...FORMATS.map((format) => `  ${format}: ${format === traits.format}`),
    `test: ${JSON.stringify(test ?? false)}`,
    ...(traits.sandbox === 'off' ? ['sandbox: off'] : []),
    '',
  ].join('\n');
  return {
    name,
    workspace,
    traits,
    paths,
    job: document.text,
    plan: document,
    rules: answersTo(name, traits, paths),
    ...filesOf(paths, '1'),
    more: { [document.path]: document.text, 'emend.yaml': config },
  };
};
