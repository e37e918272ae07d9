import Ports
import Rules
import Simulation
import Wire

/// The simulator's origin as a log of the table.
package final class ModelOrigin: RuledLog {
    private var origin = Simulation.Origin()

    package init() {}

    package func perform(_ operation: Operation, by caller: Caller) throws -> Outcome {
        try origin.perform(operation, by: caller).result.get()
    }

    package func adopt(_ limits: LogLimits) { origin.limits = limits }
}
