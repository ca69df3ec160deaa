// The owner whose memories are shown: user, agent, session and branch, taken from the parameters of the route.

/** The names of the owner's parameters. */
export const OWNER_NAMES = ['user_id', 'agent_id', 'session_id', 'branch'];

/** Returns the owner in the parameters of a route. */
export function ownerOf(params) {
  return Object.fromEntries(OWNER_NAMES.filter((name) => params[name]).map((name) => [name, params[name]]));
}

/** A name that a program chose: it says nothing to a person. */
const GENERATED_NAME = /^auto-[0-9a-f]+|^[0-9a-f]{8}-[0-9a-f]{4}-/;

/** Returns the parts of a session's label: its name unless a program chose it, and its title. */
export function sessionNames(session, title) {
  return title && GENERATED_NAME.test(session) ? [title] : [session, title].filter(Boolean);
}
