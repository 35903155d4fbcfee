import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;

/** Asks a quorum's controllers to unregister the controllers of these ids, and prints what came of each. */
public class Unregister {
    public static void main(String[] arguments) throws InterruptedException {
        Map<String, Object> settings = Map.of(AdminClientConfig.BOOTSTRAP_CONTROLLERS_CONFIG, arguments[0]);
        try (Admin admin = Admin.create(settings)) {
            for (int index = 1; index < arguments.length; index++) {
                try {
                    admin.unregisterController(Integer.parseInt(arguments[index])).all().get();
                    System.out.println("unregistered");
                } catch (ExecutionException error) {
                    System.out.println(error.getCause().getClass().getSimpleName() + ": "
                        + error.getCause().getMessage());
                }
            }
        }
    }
}
