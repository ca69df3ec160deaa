// The owner whose memories are shown: user, agent, session and branch, taken from the parameters of the route.

/** The names of the owner's parameters. */
export const OWNER_NAMES = ['user_id', 'agent_id', 'session_id', 'branch'];

/** Returns the owner in the parameters of a route. */
export function ownerOf(params) {
  return Object.fromEntries(OWNER_NAMES.filter((name) => params[name]).map((name) => [name, params[name]]));
}
