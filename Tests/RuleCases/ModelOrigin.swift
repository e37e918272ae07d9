import Ports
import Rules
import Simulation
import Wire

/// The simulator's origin as a log of the table.
package final class ModelOrigin: RuledLog {
    private var origin = Simulation.Origin()

    package init() {}

    package func result(
        of operation: Operation, by caller: Caller
    ) -> Result<Outcome, RequestError> {
        origin.perform(operation, by: caller).result
    }

    package func adopt(_ limits: LogLimits) { origin.limits = limits }
}
