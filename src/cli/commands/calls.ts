/** `emend calls RUN [N]`: what was asked of models, what they answered, what it cost. */
import { listCalls, readCall, type CallTexts, type ShownCall } from '../../client/runs/calls.js';
import { reading } from '../../client/open.js';
import { resolveRun } from '../../client/runs/resolve.js';
import { shownKey } from '../../shared/ids.js';
import { fail } from '../../shared/problems.js';
import { callOutcome, tokensIn } from '../../shared/usage.js';
import type { Io, JsonFlag } from '../io.js';
import { printFound, printJson } from '../json.js';
import { plain, table } from '../render/text.js';
import { withEmend } from '../session.js';

interface CallsFlags extends JsonFlag {
  readonly prompt?: true;
  readonly answer?: true;
}

export const calls = (io: Io, run: string, n: string | undefined, flags: CallsFlags): Promise<void> =>
  withEmend(io, async (emend) => {
    if (n === undefined && (flags.prompt ?? flags.answer) === true)
      return fail('usage', 'Which call?', `See \`emend calls ${run}\`, then: emend calls ${run} N --prompt`);
    if (n !== undefined && !/^[1-9]\d{0,5}$/.test(n))
      return fail(
        'usage',
        `"${n.slice(0, 40)}" is not the number of a call; expected 1 or more.`,
        `See: emend calls ${run}`,
      );
    const { stepKey } = await reading(emend, (told) => resolveRun(told, run));
    if (n !== undefined) {
      showCall(io, await readCall(emend, stepKey, Number(n)), flags);
      return;
    }
    const found = await listCalls(emend, stepKey);
    const none = `Run ${shownKey(stepKey)} has no model calls, or they were removed.`;
    printFound({ io, flags }, 'calls', { v: 1, stepKey, calls: found }, found.length === 0 ? [none] : callTable(found));
  });

const showCall = (io: Io, call: ShownCall & CallTexts, flags: CallsFlags): void => {
  if (flags.json === true) {
    printJson(io, 'calls N', { v: 1, ...call });
    return;
  }
  // Piped, an answer goes out as it came, so that it can be applied.
  const print = (text: string): void =>
    io.write(`${io.outIsTty ? plain(text) : text}${text.endsWith('\n') ? '' : '\n'}`);
  const [prompt, answer] = [flags.prompt === true, flags.answer === true];
  if (answer && !prompt) {
    print(call.answer);
    return;
  }
  const sent = [{ role: 'system', text: call.system }, ...call.messages];
  if (!prompt) for (const text of callTable([call])) io.out(text);
  for (const { role, text } of prompt && !answer ? sent : [...sent, { role: 'answer', text: call.answer }])
    print(`[${role}]\n${text}`);
};

const callTable = (found: readonly ShownCall[]): readonly string[] =>
  table([
    ['call', 'for', 'file', 'model', 'attempt', 'tokens in', 'out', 'US dollars', 'seconds', 'outcome'],
    ...found.map(({ n, role, file, model, attempt, usage, ...call }) => [
      ...[String(n), role, plain(file), plain(model)],
      ...[attempt, tokensIn(usage), usage.output_tokens].map(String),
      ...[usage.usd?.toFixed(4) ?? 'not known', usage.seconds.toFixed(1), plain(callOutcome(call))],
    ]),
  ]);
