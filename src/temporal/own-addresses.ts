/** Lists the addresses of the servers of this home. No command in a sandbox may reach them: whoever speaks to Temporal can approve any run. */
import { configuredServer } from './settings.js';
import { readRecord } from './dev-record.js';
import { recordedPages } from './page-record.js';
import type { Environment } from '../system/environment.js';

/** Temporal's usual port: the dev server of another home may listen there. */
const USUAL = 'localhost:7233';

/** Returns `host:port` of the Temporal server, its UI, and the review pages, as they are known now. */
export async function ownAddresses(env: Environment, home: string): Promise<readonly string[]> {
  const record = await readRecord(home).catch(() => null);
  const pages = await recordedPages(home).catch(() => []);
  const urls = pages.flatMap(({ pageUrl, uiUrl }) =>
    uiUrl === null ? [pageUrl] : [pageUrl, uiUrl],
  );
  return [
    USUAL,
    ...(record === null ? [] : [record.address]),
    ...(record?.hiddenUi == null ? [] : [record.hiddenUi]),
    ...configured(env),
    ...urls.flatMap((url) => (URL.canParse(url) ? [hostAndPort(new URL(url))] : [])),
  ];
}

const hostAndPort = ({ hostname, port, protocol }: URL): string =>
  `${hostname}:${port === '' ? USUAL_PORTS[protocol] : port}`;
const USUAL_PORTS: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' };

function configured(env: Environment): readonly string[] {
  try {
    const server = configuredServer(env);
    return server === null ? [] : [server.address];
  } catch {
    // A worker with such a configuration does not run.
    return [];
  }
}
