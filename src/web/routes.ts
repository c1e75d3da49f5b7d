/** What the page may ask for, once it is known who asks. Runs are named by their whole key, proposals by their hash. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { decide, type DecideOptions } from '../client/runs/decide.js';
import { listCalls, readCall } from '../client/runs/calls.js';
import { LISTED_ARCHIVED_RUNS, limitOf, listRuns, type ListOptions } from '../client/runs/list.js';
import { placesOf } from '../client/run-index/choose.js';
import { runIndex } from '../client/run-index/index.js';
import {
  instructionsOf,
  proposalNeeds,
  proposalSince,
  proposalTexts,
} from '../client/runs/proposal.js';
import { resolveRun, type ResolvedRun } from '../client/runs/resolve.js';
import { diffText, showRun, testRuns, versionsTo } from '../client/runs/show.js';
import type { Emend } from '../client/types.js';
import { readDiff } from '../edits/index.js';
import type { Answer } from '../shared/decisions.js';
import { readMessage, type Message } from '../shared/messages.js';
import { fail } from '../shared/problems.js';
import type { ProposalSummary } from '../shared/proposal-activities.js';
import { isStepKey, type StepKey } from '../shared/ids.js';
import { listFeed, runFeed, type Feeds } from './feeds.js';
import { readJson, refuse, send, sendJson } from './http.js';

export interface RouteContext {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  readonly person: string;
  /** Whose page it is signs: whoever started it on this machine. */
  readonly signs: boolean;
  readonly source: () => Promise<Emend>;
  readonly feeds: Feeds;
}
type Route = (context: RouteContext, parts: readonly string[]) => Promise<void> | void;

const keyOf = (text: string | undefined): StepKey =>
  text !== undefined && text.length >= 32 && isStepKey(text)
    ? text
    : fail('run_unknown', 'That is not the key of a run.');

const runOf = async (emend: Emend, text: string | undefined): Promise<ResolvedRun> => {
  const key = keyOf(text);
  const run = await resolveRun(emend, key);
  return run.stepKey === key ? run : fail('run_unknown', 'No run has this key.');
};

/** Of this run only: the proposal that it has now, or an earlier one, which can be looked at. */
const proposalOf = async (
  emend: Emend,
  run: ResolvedRun,
  id: string | undefined,
): Promise<ProposalSummary> => {
  const versions = versionsTo(run, (await showRun(emend, run)).proposal);
  return (
    versions.findLast(({ proposal }) => proposal.id === id)?.proposal ??
    fail('answer_not_accepted', 'The run has a newer proposal.', 'Reload the run.')
  );
};

const decideRoute: Route = async ({ request, response, person, signs, source }, [key]) => {
  const reading = readMessage('answer', await readJson(request));
  if (reading.kind === 'faulty') return fail('usage', `The answer is invalid: ${reading.fault}.`);
  const emend = await source();
  const options = answerFrom(reading.message, { by: { name: person, from: 'web' }, sign: signs });
  sendJson(response, await decide(emend, await runOf(emend, key), options));
};

/** Takes the parts of an answer. Its sender, request id and signature are never those that a page names. */
const answerFrom = (
  { answer, decision, parts: { files, note, set, select } }: Message,
  sender: Required<Pick<DecideOptions, 'by' | 'sign'>>,
): DecideOptions => ({
  ...sender,
  // The run refuses what is not an answer of its decision.
  answer: answer as Answer,
  ...(decision === null ? {} : { decision }),
  ...(files === undefined ? {} : { files }),
  ...(note === undefined ? {} : { note }),
  ...(set === undefined ? {} : { set }),
  ...(select === undefined ? {} : { select }),
});

const live = (
  { request, response, feeds }: RouteContext,
  name: string,
  feed: Parameters<Feeds['join']>[1],
): void => {
  const since = request.headers['last-event-id'];
  if (
    !feeds.join(
      name,
      feed,
      response,
      typeof since === 'string' && since.length < 100 ? since : null,
    )
  )
    refuse(response, 429, 'Too many pages are open.');
};

type RouteOf = readonly [method: string, path: RegExp, route: Route];

/** Where it is, with `:run` for a run's key, `:hash` for a proposal's hash and `:n` for a call's number, which the route gets in order. */
const at = (method: string, path: string, route: Route): RouteOf => {
  const found = path
    .replaceAll(':run', '([^/]+)')
    .replaceAll(':hash', '([0-9a-f]{64})')
    .replaceAll(':n', '([1-9]\\d{0,5})');
  return [method, new RegExp(`^/api/${found}$`), route];
};

/** What is answered as JSON. */
const get = (
  path: string,
  answer: (context: RouteContext, parts: readonly string[]) => unknown,
): RouteOf =>
  at('GET', path, async (context, parts) =>
    sendJson(context.response, await answer(context, parts)),
  );

/** What is asked of one run. */
const ofRun = (
  path: string,
  answer: (
    emend: Emend,
    run: ResolvedRun,
    parts: readonly string[],
    query: URLSearchParams,
  ) => unknown,
): RouteOf =>
  get(`runs/:run/${path}`, async ({ source, url }, [key, ...parts]) => {
    const emend = await source();
    return answer(emend, await runOf(emend, key), parts, url.searchParams);
  });

const LISTED_PLACES = 200; // bound: Maximum number of repositories and of plans that the page offers to choose from.
const SEARCH_CHARS = 1_000; // bound: Characters of each filter.

/** Throws ProblemError `usage`. */
const listOptions = (query: URLSearchParams): ListOptions => {
  const valueOf = (name: string): string => {
    const value = query.get(name) ?? '';
    return value.length <= SEARCH_CHARS ? value : fail('usage', `\`${name}\` is too long.`);
  };
  const [before, limit] = [valueOf('before'), valueOf('limit')];
  const filter = {
    state: valueOf('state'),
    workspace: valueOf('repository'),
    plan: valueOf('plan'),
    text: valueOf('text'),
  };
  return {
    filter,
    before: before === '' ? null : before,
    limit: limit === '' ? LISTED_ARCHIVED_RUNS : limitOf(limit),
  };
};

const ROUTES: readonly RouteOf[] = [
  get('session', ({ person }) => ({ person })),
  get('runs', async ({ source, url }) => listRuns(await source(), listOptions(url.searchParams))),
  get('places', async ({ source }) => placesOf(await runIndex(await source()), LISTED_PLACES)),
  at('GET', 'live', (context) => live(context, 'list', listFeed(context.source))),
  at('GET', 'runs/:run/live', async (context, [key]) => {
    const { stepKey } = await runOf(await context.source(), key);
    live(context, `run ${stepKey}`, runFeed(context.source, stepKey));
  }),
  at('GET', 'runs/:run/diff/:hash', async ({ response, source }, [key, id]) => {
    const emend = await source();
    const diff = await diffText(emend, await proposalOf(emend, await runOf(emend, key), id));
    send(response, 200, diff, { 'content-type': 'text/plain; charset=utf-8' });
  }),
  ofRun('file/:hash', async (emend, run, [id], query) =>
    proposalTexts(emend, await proposalOf(emend, run, id), query.get('path') ?? ''),
  ),
  ofRun('needs/:hash', async (emend, run, [id]) => {
    const proposal = await proposalOf(emend, run, id);
    return proposalNeeds(emend, proposal, readDiff(await diffText(emend, proposal)));
  }),
  ofRun('tests', (emend, run, _, query) => testRuns(emend, run, { whole: query.has('whole') })),
  ofRun('since/:hash/:hash', async (emend, run, [earlier, later]) =>
    proposalSince(
      emend,
      await proposalOf(emend, run, earlier),
      await proposalOf(emend, run, later),
    ),
  ),
  ofRun('instructions', instructionsOf),
  get('runs/:run/calls', async ({ source }, [key]) => listCalls(await source(), keyOf(key))),
  get('runs/:run/calls/:n', async ({ source }, [key, n]) =>
    readCall(await source(), keyOf(key), Number(n)),
  ),
  at('POST', 'runs/:run/decide', decideRoute),
];

/** Answers, or says that there is no such thing. Throws what the client functions throw. */
export const answerRoute = async (context: RouteContext): Promise<void> => {
  const method = context.request.method === 'HEAD' ? 'GET' : context.request.method;
  const matching = ROUTES.map(([wanted, path, route]) => ({
    wanted,
    route,
    found: path.exec(context.url.pathname),
  })).filter(({ found }) => found !== null);
  const match = matching.find(({ wanted }) => wanted === method);
  if (match?.found) await match.route(context, match.found.slice(1));
  else if (matching.length > 0)
    refuse(context.response, 405, 'This address requires another method.');
  else refuse(context.response, 404, 'Not found.');
};
