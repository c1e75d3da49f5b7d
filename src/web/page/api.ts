/** Requests to our own server. The key stays with this origin: other ports of the host get the cookie, but not the key. */
import type { Problem } from '../../shared/problems.js';
import type { Request } from './model/requests.js';

const KEY = 'emend-key';

/** An expected failure as the server told it. */
export class Refused extends Error {
  readonly status: number;
  readonly next: string | null;
  constructor(status: number, problem: Pick<Problem, 'message' | 'next'>) {
    super(problem.message);
    this.status = status;
    this.next = problem.next ?? null;
  }
}

export const headersOf = (): Record<string, string> => {
  const key = localStorage.getItem(KEY);
  return key === null ? {} : { 'x-emend-key': key };
};

/** Throws Refused. */
const ask = async (path: string, init: RequestInit = {}): Promise<Response> => {
  const response = await fetch(path, {
    ...init,
    headers: { ...headersOf(), ...(init.headers as Record<string, string>) },
  }).catch(() => {
    throw new Refused(0, {
      message: "The page's server does not answer.",
      next: 'Is `emend dev` or `emend web` still running?',
    });
  });
  if (response.ok) return response;
  const body = (await response.json().catch(() => null)) as { readonly problem?: Problem } | null;
  throw new Refused(response.status, body?.problem ?? { message: `The server answered ${response.status}.` });
};

export const getJson = async <T>(path: string): Promise<T> => (await (await ask(path)).json()) as T;
export const getText = async (path: string): Promise<string> => (await ask(path)).text();
const post = async <T>(path: string, body: unknown): Promise<T> => {
  const init = { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  return (await (await ask(path, init)).json()) as T;
};

export const login = async (given: { token: string } | { secret: string; name: string }): Promise<void> => {
  const { key } = await post<{ key: string }>('/api/login', given);
  localStorage.setItem(KEY, key);
};
export const logout = async (): Promise<void> => {
  await post('/api/logout', {});
  localStorage.removeItem(KEY);
};
export const isLetIn = async (): Promise<boolean> => {
  if (localStorage.getItem(KEY) === null) return false;
  try {
    await getJson('/api/session');
    return true;
  } catch (error) {
    if (error instanceof Refused && error.status === 401) return false;
    throw error;
  }
};

export interface Decided {
  readonly outcome: 'settled' | 'recorded' | 'already_settled' | 'sent';
  readonly message: string;
}
export const decide = (stepKey: string, request: Request): Promise<Decided> =>
  post(`/api/runs/${stepKey}/decide`, request);
