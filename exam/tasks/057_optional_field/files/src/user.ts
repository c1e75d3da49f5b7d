export interface Group {
  readonly id: number;
  name: string;
  members: User[];
}

export interface User {
  readonly id: number;
  name: string;
  roles: readonly string[];
}

let last = 0;

export function createUser(name: string): User {
  last += 1;
  return { id: last, name, roles: [] };
}

export function createGroup(name: string, members: User[] = []): Group {
  last += 1;
  return { id: last, name, members };
}

export const isMember = (group: Group, user: User): boolean =>
  group.members.some((member) => member.id === user.id);
