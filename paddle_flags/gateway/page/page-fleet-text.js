// Which members a change is for, in words.

/** Answers after which nothing is left to do, or only to wait. */
export const GOOD = ['applied', 'accepted', 'ended', 'pending', 'waits for its step'];

/** States of members that aren't here, and of those that are well. */
export const ABSENT = ['gone', 'left', 'missing'];
export const WELL = ['current', 'behind', 'left'];

/** Whether "all", "role:ROLE", "host:HOST" or "member:NAME" concerns a member. */
export function concerned(member, on) {
  const [kind, ...rest] = on.split(':');
  const which = rest.join(':');
  return kind === 'all' || { role: member.role, host: member.host, member: member.name }[kind] === which;
}

/** "for all", "for role trainer". */
export function scopeText(on) {
  return on === 'all' ? 'for all' : `for ${on.replace(':', ' ')}`;
}

/** A reason without where it comes from, which the view says already. */
export function shortened(why, url) {
  return why.split(`${url} `).map((part, at) => (at ? part.replace(/^revision \d+: /, '') : part)).join('');
}

/** Names, of which only some are shown. */
export function listed(names, most = 5) {
  const more = names.length - most;
  return names.slice(0, most).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
