-- The arguments, in the order in which the gateway gives them.
local given = 0
local function take(count)
  given = given + count
  return unpack(ARGV, given - count + 1, given)
end

-- The publishing command and the channel, for a script that publishes.
local PUBLISH, CHANNEL
